// SPDX-License-Identifier: Apache-2.0
#include "put/mpi_runner.hpp"

#include <optional>

#include "core/json.hpp"
#include "mpi/session.hpp"
#include "put/loops.hpp"
#include "put/payload.hpp"
#include "put/synchronisation.hpp"
#include "put/window.hpp"

namespace slowpath::put {
namespace {

MPI_Group other_rank(const Pair& pair) {
    MPI_Group both = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
    const int rank = 1 - pair.rank();
    mpi::check(MPI_Comm_group(pair.communicator(), &both), "MPI_Comm_group");
    mpi::check(MPI_Group_incl(both, 1, &rank, &other), "MPI_Group_incl");
    mpi::check(MPI_Group_free(&both), "MPI_Group_free");
    return other;
}

std::string info_note(const WindowInfo& asked, const Window& window) {
    JsonObject kept;
    std::string text;
    for (const auto& [key, value] : window.kept_info()) {
        kept.text(key, value);
        text += (text.empty() ? "" : " ") + key + "=" + value;
    }
    JsonObject note;
    note.text("text",
              "window info asked: " +
                  (asked.key.empty() ? "none" : std::string(asked.key) + "=" + std::string(asked.value)) +
                  "; the library keeps: " + (text.empty() ? "none" : text));
    return note.raw("window_info", kept.str()).fields();
}

template <class Synchronise>
class MpiRunner final : public Runner {
  public:
    MpiRunner(const Config& config, const Layout& layout, const Pair& pair, const OriginMemory& origin,
              const Loop& loop)
        : info_(find_window_info(config.window_info)),
          window_(config.window, layout.bytes(), info_, pair),
          type_(layout.shape),
          loop_(loop),
          bytes_(layout.bytes()),
          rank_(pair.rank()),
          epoch_{window_.handle(), other_rank(pair), pair.is_origin()},
          burst_{.window = window_.handle(),
                 .type = type_.handle(),
                 .count = layout.count,
                 .slot_bytes = layout.slot_bytes,
                 .first_displacement = window_.first_displacement(),
                 .slot_displacements = window_.displacements(layout.slot_bytes),
                 .memory = origin,
                 .requests = nullptr,
                 .slot_of = {layout.mask(), line_step(layout.slot_bytes), layout.shuffled.data()},
                 .puts = 0,
                 .target_type = type_.handle()},
          with_requests_(config.operation == Operation::rput) {
        if (config.two_datatypes()) burst_.target_type = target_type_.emplace(layout.target_shape).handle();
        set_puts(config.puts);
    }

    std::span<std::byte> memory() override { return {window_.base(), bytes_}; }

    void access(const std::function<void()>& body) override {
        // Between the epochs of an active target local loads and stores need nothing.  Else they are accesses
        // within an epoch (MPI-4.1 section 12.7), of all ranks: MPICH keeps a table of targets once one of
        // them was locked by itself, and every later put looks into it.
        if constexpr (Synchronise::active) return body();
        mpi::check(MPI_Win_lock_all(0, epoch_.window), "MPI_Win_lock_all");
        mpi::check(MPI_Win_sync(epoch_.window), "MPI_Win_sync");
        body();
        mpi::check(MPI_Win_sync(epoch_.window), "MPI_Win_sync");
        mpi::check(MPI_Win_unlock_all(epoch_.window), "MPI_Win_unlock_all");
    }

    int begin_epoch() override { return Synchronise::begin(epoch_); }
    int end_epoch() override { return Synchronise::end(epoch_); }

    int run(std::int64_t bursts) override {
        int first = MPI_SUCCESS;
        for (std::int64_t i = 0; i < bursts; ++i) {
            const int opened = MpiRunner::open();
            const int put = loop_.run(burst_);
            const int closed = MpiRunner::close();
            if ((opened | put | closed) != MPI_SUCCESS && first == MPI_SUCCESS) [[unlikely]]
                first = opened != MPI_SUCCESS ? opened : put != MPI_SUCCESS ? put : closed;
        }
        return first;
    }

    int open() override { return Synchronise::open(epoch_); }
    int puts() override { return loop_.run(burst_); }
    int close() override {
        int code = MPI_SUCCESS;
        if (with_requests_)
            code = MPI_Waitall(static_cast<int>(burst_.puts), requests_.data(), MPI_STATUSES_IGNORE);
        const int closed = Synchronise::close(epoch_);
        return code == MPI_SUCCESS ? closed : code;
    }
    bool opens() const override { return Synchronise::opens; }

    void set_puts(std::int64_t puts) override {
        burst_.puts = puts;
        if (!with_requests_) return;
        requests_.assign(static_cast<std::size_t>(puts), MPI_REQUEST_NULL);
        burst_.requests = requests_.data();
    }

    int serve(std::int64_t bursts) override {
        for (std::int64_t i = 0; Synchronise::active && i < bursts; ++i)
            if (const int code = Synchronise::serve(epoch_); code != MPI_SUCCESS) return code;
        return MPI_SUCCESS;
    }

    std::string note() const override { return info_note(info_, window_); }

    std::string error_text(int code) const override {
        const std::string calls = std::string(loop_.call) + " or " + std::string(Synchronise::calls);
        return mpi::Error(calls.c_str(), code, std::source_location::current()).what();
    }

    void release() override {
        mpi::check(MPI_Group_free(&epoch_.peer), "MPI_Group_free");
        window_.release();
    }

  private:
    WindowInfo info_;
    Window window_;
    MpiType type_;
    std::optional<MpiType> target_type_;
    Loop loop_;
    std::size_t bytes_;
    int rank_;
    Epoch epoch_;
    MpiBurst burst_;
    bool with_requests_;
    std::vector<MPI_Request> requests_;
};

}  // namespace

Made make_mpi_runner(const Config& config, const Layout& layout, const Pair& pair,
                     const OriginMemory& origin) {
    if (config.window == WindowKind::allocate_shared && !pair.one_node())
        return {nullptr, "window=allocate_shared: the two ranks are on different nodes"};
    const Loop loop = loop_for(config);
    if (loop.run == nullptr)
        return {nullptr,
                "datatype=large_count: this MPI library has no " + std::string(loop.call) + " (MPI-4.0)"};
    const auto make = [&]<class Synchronise>() -> Made {
        return {std::make_unique<MpiRunner<Synchronise>>(config, layout, pair, origin, loop), std::nullopt};
    };
    switch (config.synchronisation) {
        case Synchronisation::flush_all:
            return make.operator()<synchronisation::FlushAll>();
        case Synchronisation::fence:
            return make.operator()<synchronisation::Fence>();
        case Synchronisation::pscw:
            return make.operator()<synchronisation::Pscw>();
        case Synchronisation::lock:
            return make.operator()<synchronisation::Lock>();
        case Synchronisation::flush_local:
            return make.operator()<synchronisation::FlushLocal>();
    }
    throw std::logic_error("unknown synchronisation");
}

}  // namespace slowpath::put
