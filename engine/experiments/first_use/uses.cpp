// SPDX-License-Identifier: Apache-2.0
#include "first_use/uses.hpp"

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/launch.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::first_use {

/// Communicators made one after the other, all kept: MPI-4.1 sections 7.4.2 and 7.6.

namespace {

class CommunicatorUse final : public Use {
  public:
    CommunicatorUse(const Context& context, const Config& config)
        : made_by_(config.made_by), rank_(context.session.rank()), size_(context.session.size()) {
        made_.reserve(static_cast<std::size_t>(config.uses));
        mpi::check(MPI_Comm_group(MPI_COMM_WORLD, &everyone_), "MPI_Comm_group");
        if (made_by_ != MadeBy::intercommunicator && made_by_ != MadeBy::merge) return;
        mpi::check(MPI_Comm_split(MPI_COMM_WORLD, is_upper() ? 1 : 0, rank_, &half_), "MPI_Comm_split");
        if (made_by_ == MadeBy::merge) mpi::check(connect(&halves_), "MPI_Intercomm_create");
    }
    ~CommunicatorUse() override {
        for (MPI_Comm& one : made_) MPI_Comm_free(&one);
        for (MPI_Comm* one : {&halves_, &half_})
            if (*one != MPI_COMM_NULL) MPI_Comm_free(one);
        MPI_Group_free(&everyone_);
    }

    int use(Marks&) override {
        switch (made_by_) {
            case MadeBy::duplicate:
                return MPI_Comm_dup(MPI_COMM_WORLD, &fresh_);
            case MadeBy::split:
                return MPI_Comm_split(MPI_COMM_WORLD, 0, rank_, &fresh_);
            case MadeBy::create:
                return MPI_Comm_create(MPI_COMM_WORLD, everyone_, &fresh_);
            case MadeBy::intercommunicator:
                return connect(&fresh_);
            case MadeBy::merge:
                return MPI_Intercomm_merge(halves_, is_upper() ? 1 : 0, &fresh_);
        }
        return MPI_ERR_INTERN;
    }

    void finish() override {
        made_.push_back(fresh_);
        int rank = -1, size = -1;
        mpi::check(MPI_Comm_rank(fresh_, &rank), "MPI_Comm_rank");
        mpi::check(MPI_Comm_size(fresh_, &size), "MPI_Comm_size");
        const bool halves = made_by_ == MadeBy::intercommunicator;
        const int first = halves && is_upper() ? upper() : 0;
        const int members = !halves ? size_ : is_upper() ? size_ - upper() : upper();
        judge(1, rank != rank_ - first || size != members ? 1 : 0,
              "of communicator " + std::to_string(made_.size()) + " (rank and size)");
    }

  private:
    /// The first rank of the upper half.
    int upper() const { return size_ / 2; }
    bool is_upper() const { return rank_ >= upper(); }
    /// Between the two halves. @return An MPI error code.
    int connect(MPI_Comm* made) const {
        constexpr int tag = 79;
        return MPI_Intercomm_create(half_, 0, MPI_COMM_WORLD, is_upper() ? 0 : upper(), tag, made);
    }

    MadeBy made_by_;
    int rank_, size_;
    MPI_Group everyone_ = MPI_GROUP_NULL;
    MPI_Comm half_ = MPI_COMM_NULL, halves_ = MPI_COMM_NULL;  ///< this rank's half; the two connected
    MPI_Comm fresh_ = MPI_COMM_NULL;
    std::vector<MPI_Comm> made_;
};

}  // namespace

std::unique_ptr<Use> communicator_use(const Context& context, const Config& config) {
    return std::make_unique<CommunicatorUse>(context, config);
}

/// Processes started by a running job: MPI-4.1 section 11.8.

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

/// Windows by their length, and the same memory without MPI.  What the library has not touched the program
/// touches after it: both together are what a program pays before its first step.

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

void record_spans(Context& context, Phase phase, std::uint64_t part, std::int64_t seq0,
                  const std::vector<Span>& spans, const Witness& kernel) {
    if (spans.empty()) return;
    BlockHeader header;
    header.cell = context.cell;
    header.launch = context.launch;
    header.rank = static_cast<std::uint32_t>(context.session.rank());
    header.phase = phase;
    header.part = part;
    header.t0_ns = spans.front().begin_ns;
    header.seq0 = static_cast<std::uint64_t>(seq0);
    if (kernel.valid) {
        Witness nothing;
        nothing.valid = true;
        nothing.cpu = kernel.cpu;
        store_witness(header, nothing, kernel);
    }
    std::vector<std::int64_t> durations_ns, begins_ns;
    for (const Span& span : spans) {
        durations_ns.push_back(span.end_ns - span.begin_ns);
        begins_ns.push_back(span.begin_ns);
    }
    append_block(context.record.blocks, header, durations_ns, begins_ns);
}

void KernelTotal::add(const Witness& before, const Witness& after) {
    if (!before.valid || !after.valid) return;
    total_.valid = true;
    total_.minor_faults += after.minor_faults - before.minor_faults;
    total_.major_faults += after.major_faults - before.major_faults;
    total_.user_time_ns += after.user_time_ns - before.user_time_ns;
    total_.system_time_ns += after.system_time_ns - before.system_time_ns;
    total_.voluntary_switches += after.voluntary_switches - before.voluntary_switches;
    total_.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    total_.cpu = after.cpu;
}

void Use::judge(std::int64_t compared, std::int64_t wrong, const std::string& what) {
    compared_bytes += compared;
    wrong_bytes += wrong;
    if (wrong > 0 && !first_wrong)
        first_wrong =
            "wrong payload: " + std::to_string(wrong) + " of " + std::to_string(compared) + " " + what;
}

}  // namespace slowpath::first_use
