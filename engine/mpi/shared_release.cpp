// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_release.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <numeric>
#include <vector>

#include "core/clock.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::mpi {
namespace {

/// Longer than the word of the last rank takes to its neighbours; the clock decides from then on.
constexpr std::int64_t margin_ns = 20'000;
constexpr int eager_spins = 2000;
/// So far from the deadline a rank gives its core away: others may need it to come at all.
constexpr std::int64_t far_ns = 100'000;

std::vector<int> ranks_of(MPI_Comm communicator) {
    int size = 0;
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

/// Ranks may share a processor: who waits for long gives it away.
template <class Condition>
void wait_until(Condition&& is_met) {
    for (int i = 0; !is_met(); ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (i >= eager_spins) sched_yield();
    }
}

}  // namespace

struct SharedRelease::Region {
    alignas(128) std::atomic<std::uint64_t> arrived{0};  ///< over all meetings
    alignas(128) std::atomic<std::int64_t> deadline_ns{0};
    std::atomic<bool> enough{false};
    alignas(128) std::atomic<std::uint64_t> released{0};  ///< meetings that have a deadline
};

SharedRelease::SharedRelease(MPI_Comm communicator) {
    const Nodes& nodes = Nodes::of(communicator);
    check(MPI_Comm_size(nodes.node(), &members_), "MPI_Comm_size");
    leaders_ = nodes.leaders();
    if (nodes.leads()) {
        between_leaders_.emplace(leaders_, ranks_of(leaders_));
        between_leaders_->wait();  // the leaders' first messages are not those of a measurement
        check(MPI_Comm_size(leaders_, &nodes_), "MPI_Comm_size");
        one_clock_ = nodes_ == 1 || mpi::one_clock(leaders_);
    }
    open(nodes.node());
    // All nodes go the same way, or a leader would wait for one that meets by messages.
    const std::array<int, 2> mine{region_ != nullptr ? 1 : 0, one_clock_ ? 1 : 0};
    std::array<int, 2> all{};
    check(MPI_Allreduce(mine.data(), all.data(), 2, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
    one_clock_ = all[1] == 1;
    if (all[0] == 1) return;
    if (region_ != nullptr) munmap(region_, sizeof(Region));
    region_ = nullptr;
    between_all_.emplace(communicator, ranks_of(communicator));
}

void SharedRelease::open(MPI_Comm node) {
    int rank = 0;
    check(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    std::array<char, 64> name{};
    if (rank == 0) {
        const MonotonicClock clock;
        std::snprintf(name.data(), name.size(), "/slowpath-%d-%lld", static_cast<int>(getpid()),
                      static_cast<long long>(clock.now_ns()));
    }
    check(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, node), "MPI_Bcast");
    int descriptor = -1;
    if (rank == 0) {
        descriptor = shm_open(name.data(), O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR);
        if (descriptor >= 0 && ftruncate(descriptor, sizeof(Region)) != 0) {
            close(descriptor);
            descriptor = -1;
        }
    }
    check(MPI_Barrier(node), "MPI_Barrier");
    if (rank != 0) descriptor = shm_open(name.data(), O_RDWR, 0);
    void* mapped = MAP_FAILED;
    if (descriptor >= 0) {
        mapped = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        close(descriptor);
    }
    if (rank == 0 && mapped != MAP_FAILED) new (mapped) Region;
    int there = mapped != MAP_FAILED ? 1 : 0, everywhere = 0;
    check(MPI_Allreduce(&there, &everywhere, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
    if (rank == 0) shm_unlink(name.data());
    if (everywhere == 1) region_ = std::launder(static_cast<Region*>(mapped));
    if (everywhere == 0 && there == 1) munmap(mapped, sizeof(Region));
}

SharedRelease::~SharedRelease() {
    if (region_ != nullptr) munmap(region_, sizeof(Region));
}

Release SharedRelease::meet_by_messages(bool enough) const {
    std::array<std::int64_t, 1> word{enough ? 1 : 0};
    between_all_->wait(word);
    return {MonotonicClock{}.now_ns(), 0, word[0] != 0};
}

void SharedRelease::release(bool enough) {
    const MonotonicClock clock;
    std::array<std::int64_t, 3> word{enough ? 1 : 0, clock.now_ns(), reach_ns_};
    between_leaders_->wait(word);
    const std::int64_t now_ns = clock.now_ns(), last_ns = word[1];
    std::int64_t deadline_ns = now_ns + margin_ns;
    if (nodes_ > 1 && one_clock_) {
        deadline_ns = last_ns + word[2] + margin_ns;
        reach_ns_ = std::max(now_ns - last_ns, word[2] * 7 / 8);  // a long one is forgotten slowly
    }
    region_->deadline_ns.store(deadline_ns, std::memory_order_relaxed);
    region_->enough.store(word[0] != 0, std::memory_order_relaxed);
    region_->released.store(meetings_, std::memory_order_release);
}

Release SharedRelease::wait(bool enough) {
    if (region_ == nullptr) return meet_by_messages(enough);
    const MonotonicClock clock;
    ++meetings_;
    const std::uint64_t wanted = meetings_ * static_cast<std::uint64_t>(members_);
    region_->arrived.fetch_add(1, std::memory_order_acq_rel);
    if (between_leaders_) {
        wait_until([&] { return region_->arrived.load(std::memory_order_acquire) >= wanted; });
        release(enough);
    }
    wait_until([&] { return region_->released.load(std::memory_order_acquire) >= meetings_; });
    const std::int64_t deadline_ns = region_->deadline_ns.load(std::memory_order_relaxed);
    std::int64_t now_ns = clock.now_ns();
    const std::int64_t late_ns = std::max<std::int64_t>(0, now_ns - deadline_ns);
    const bool had_enough = region_->enough.load(std::memory_order_relaxed);
    while (now_ns < deadline_ns) {
        if (deadline_ns - now_ns > far_ns) sched_yield();
        now_ns = clock.now_ns();
    }
    return {deadline_ns, late_ns, had_enough};
}

}  // namespace slowpath::mpi
