// SPDX-License-Identifier: Apache-2.0
/// Windows by their length, and the same memory without MPI.  What the library has not touched the program
/// touches after it: both together are what a program pays before its first step.
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "first_use/use.hpp"
#include "mpi/check.hpp"

namespace slowpath::first_use {
namespace {

std::int64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string word;
    std::int64_t kibibytes = 0;
    while (file >> word)
        if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    return 0;
}

/// Where shared memory of the usual libraries lies; 0: it can't be said.
std::int64_t shared_available_bytes() {
    struct statvfs found {};
    if (statvfs("/dev/shm", &found) != 0) return 0;
    return static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_frsize);
}

class WindowUse final : public Use {
  public:
    WindowUse(const Context& context, const Config& config)
        : config_(config),
          clock_(context.clock),
          rank_(context.session.rank()),
          shared_(config.pattern == Pattern::shared_window),
          bytes_(static_cast<std::size_t>(config.window_bytes)),
          page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        mpi::check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_),
                   "MPI_Comm_split_type");
        mpi::check(MPI_Comm_size(node_, &members_), "MPI_Comm_size");
        if (config.window_info == "none") return;
        mpi::check(MPI_Info_create(&info_), "MPI_Info_create");
        mpi::check(MPI_Info_set(info_, config.window_info.c_str(), "true"), "MPI_Info_set");
    }
    ~WindowUse() override {
        if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
        MPI_Comm_free(&node_);
    }

    int parts() const override { return 2; }

    std::optional<std::string> obstacle() const override {
        const std::int64_t wanted = config_.window_bytes * members_;
        if (wanted > available_bytes() / 2)
            return "windows of " + std::to_string(config_.window_bytes) + " B on " +
                   std::to_string(members_) + " ranks of a node take over half of the memory that is left";
        if (const std::int64_t there = shared_available_bytes(); there > 0 && wanted > there / 10 * 9)
            return "windows of " + std::to_string(config_.window_bytes) + " B on " +
                   std::to_string(members_) + " ranks of a node do not fit into /dev/shm, which has " +
                   std::to_string(there) + " B left";
        return std::nullopt;
    }

    void prepare() override {
        base_ = nullptr;
        if (on_own_memory()) base_ = mapped();
    }

    int use(Marks& marks) override {
        const int code = make();
        marks.first_ns = clock_.now_ns();
        if (code == MPI_SUCCESS && base_ != nullptr) touch();
        marks.second_ns = clock_.now_ns();
        return code == MPI_SUCCESS && base_ == nullptr ? MPI_ERR_NO_MEM : code;
    }

    void finish() override {
        ++number_;
        if (config_.validate) check_pages();
        if (config_.memory == Memory::library) mpi::check(MPI_Win_free(&window_), "MPI_Win_free");
        if (config_.memory == Memory::program || on_own_memory()) munmap(base_, bytes_);
        base_ = nullptr;
    }

  private:
    /// MPI_Win_create on memory that the program has mapped before, and not touched.
    bool on_own_memory() const {
        return !shared_ && config_.window == WindowKind::create && config_.memory == Memory::library;
    }

    /// What libraries put windows in that they allocate is shared with the other ranks of the node, whose
    /// pages cost more than private ones: the same memory without MPI is shared as well.
    std::byte* mapped() const {
        const bool shareable = shared_ || config_.window == WindowKind::allocate;
        const int kind = (shareable ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
        void* const found = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kind, -1, 0);
        return found == MAP_FAILED ? nullptr : static_cast<std::byte*>(found);
    }

    int make() {
        const auto bytes = static_cast<MPI_Aint>(bytes_);
        if (config_.memory == Memory::program) {
            base_ = mapped();
            return MPI_SUCCESS;
        }
        void* base = base_;
        int code = MPI_SUCCESS;
        if (shared_)
            code = MPI_Win_allocate_shared(bytes, 1, info_, node_, static_cast<void*>(&base), &window_);
        else if (on_own_memory())
            code = MPI_Win_create(base, bytes, 1, info_, MPI_COMM_WORLD, &window_);
        else
            code = MPI_Win_allocate(bytes, 1, info_, MPI_COMM_WORLD, static_cast<void*>(&base), &window_);
        base_ = static_cast<std::byte*>(base);
        return code;
    }

    std::byte mark(std::size_t page) const {
        return static_cast<std::byte>((static_cast<std::size_t>(rank_) * 31 + page + 1) & 0xFF);
    }

    void touch() {
        for (std::size_t at = 0; at < bytes_; at += page_bytes_)
            *static_cast<volatile std::byte*>(base_ + at) = mark(at / page_bytes_);
    }

    /// Parts of ranks that lie in the same memory would spoil one another's marks.
    void check_pages() {
        std::int64_t wrong = 0, compared = 0;
        for (std::size_t at = 0; at < bytes_; at += page_bytes_, ++compared)
            if (base_[at] != mark(at / page_bytes_)) ++wrong;
        judge(compared, wrong, "in the pages of window " + std::to_string(number_));
    }

    Config config_;
    MonotonicClock clock_;
    int rank_;
    bool shared_;
    std::size_t bytes_, page_bytes_;
    MPI_Comm node_ = MPI_COMM_NULL;
    int members_ = 1;
    MPI_Info info_ = MPI_INFO_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    std::byte* base_ = nullptr;
    std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Use> window_use(const Context& context, const Config& config) {
    return std::make_unique<WindowUse>(context, config);
}

}  // namespace slowpath::first_use
