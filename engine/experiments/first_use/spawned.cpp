// SPDX-License-Identifier: Apache-2.0
/// Processes started by a running job: MPI-4.1 section 11.8.
#include "mpi/spawned.hpp"

#include <array>
#include <cstdlib>
#include <string_view>

#include "first_use/use.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::first_use {
namespace {

class SpawnUse final : public Use {
  public:
    SpawnUse(const Context& context, const Config& config)
        : control_(context.session.control()),
          program_(mpi::own_program()),
          processes_(static_cast<int>(config.processes)) {}

    std::optional<std::string> obstacle() const override {
        // 2021.18 crashes in MPI_Comm_spawn without it.
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
        int length = 0;
        mpi::check(MPI_Get_library_version(library.data(), &length), "MPI_Get_library_version");
        const bool is_intel = std::string_view(library.data()).find("Intel") != std::string_view::npos;
        if (is_intel && std::getenv("I_MPI_SPAWN") == nullptr)
            return "Intel MPI starts processes only where I_MPI_SPAWN=on is set";
        return std::nullopt;
    }

    int use(Marks&) override {
        std::array<char*, 2> words{word_.data(), nullptr};
        const int code = MPI_Comm_spawn(program_.c_str(), words.data(), processes_, MPI_INFO_NULL, 0,
                                        MPI_COMM_WORLD, &fresh_, MPI_ERRCODES_IGNORE);
        if (code == MPI_SUCCESS) return code;
        // Launchers that start no more processes than they were asked for, and batch systems, refuse.
        refusal_ = mpi::Error("MPI_Comm_spawn", code, std::source_location::current()).what();
        fresh_ = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }

    std::optional<std::string> refusal() const override { return mpi::first_text(control_, refusal_); }

    void finish() override {
        if (fresh_ == MPI_COMM_NULL) return;
        int started = 0;
        mpi::check(MPI_Comm_remote_size(fresh_, &started), "MPI_Comm_remote_size");
        judge(1, started != processes_ ? 1 : 0, "of a spawn (number of processes)");
        mpi::check(MPI_Comm_disconnect(&fresh_), "MPI_Comm_disconnect");
    }

  private:
    MPI_Comm control_;
    std::string program_, word_ = mpi::spawned_word;
    int processes_;
    MPI_Comm fresh_ = MPI_COMM_NULL;
    std::optional<std::string> refusal_;
};

}  // namespace

std::unique_ptr<Use> spawn_use(const Context& context, const Config& config) {
    return std::make_unique<SpawnUse>(context, config);
}

}  // namespace slowpath::first_use
