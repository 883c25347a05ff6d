// SPDX-License-Identifier: Apache-2.0
#include "yardstick/pair.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "core/clock.hpp"

namespace slowpath::yardstick {
namespace {

constexpr std::int64_t hand_overs = 32;  ///< round trips in a sample
constexpr int hand_over_samples = 15;
constexpr std::int64_t most_operations = 256;

Party other(Party me) {
    return me == Party::first ? Party::second : Party::first;
}

/// Raise the own flag by one and wait for the other's, or the other way round.
class Turns {
  public:
    Turns(SharedRegion& region, Party me)
        : mine_(region.flag(me)), theirs_(region.flag(other(me))), turn_(mine_.value.load()) {}

    /// @param received Called when the other's flag was seen, before the own answer (second process) or at
    /// the end of the round trip (first process).
    template <class Received>
    void round_trip(Party me, Received&& received) {
        ++turn_;
        if (me == Party::first) mine_.value.store(turn_, std::memory_order_release);
        if (!await(theirs_, turn_)) throw std::runtime_error("the other rank did not answer within 10 s");
        received();
        if (me == Party::second) mine_.value.store(turn_, std::memory_order_release);
    }

  private:
    Flag& mine_;
    const Flag& theirs_;
    std::uint64_t turn_;
};

template <class Received>
void time_round_trips(Timed& timed, SharedRegion& region, Party me, std::int64_t trips, int count,
                      Received&& received) {
    const MonotonicClock clock;
    Turns turns(region, me);
    timed.operations = 2 * trips;
    for (int i = 0; i < count; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        for (std::int64_t trip = 0; trip < trips; ++trip) turns.round_trip(me, received);
        timed.samples_ns.push_back(clock.now_ns() - begin_ns);
    }
}

}  // namespace

Timed hand_over(SharedRegion& region, Party me) {
    Timed timed{"flag"};
    const auto nothing = [] {};
    region.exchange(me, 0);
    time_round_trips(timed, region, me, hand_overs, 2, nothing);
    timed.samples_ns.clear();
    time_round_trips(timed, region, me, hand_overs, hand_over_samples, nothing);
    return timed;
}

Timed copy_across(SharedRegion& region, Party me, std::int64_t bytes) {
    Timed timed{"copy_across", bytes};
    const auto length = static_cast<std::size_t>(bytes);
    const auto own = std::make_unique<std::byte[]>(length + 1);
    std::memset(own.get(), 1, length + 1);
    std::memset(region.area(me), 2, length);
    const std::byte* const from = region.area(other(me));
    const auto copy = [&] {
        std::memcpy(own.get(), from, length);
        asm volatile("" : : "r"(own.get()) : "memory");
    };
    region.exchange(me, 0);
    // The first round trip has the pages of the shared memory mapped.
    time_round_trips(timed, region, me, 1, 2, copy);
    const std::int64_t once_ns = std::max<std::int64_t>(timed.samples_ns.back(), 1);
    timed.samples_ns.clear();
    std::int64_t trips = std::clamp<std::int64_t>(2 * sample_ns / once_ns, 1, most_operations);
    int count = once_ns > 2 * long_ns ? long_samples : samples;
    const std::int64_t said = region.exchange(me, trips * 1000 + count);
    if (me == Party::second) {
        trips = said / 1000;
        count = static_cast<int>(said % 1000);
    }
    time_round_trips(timed, region, me, trips, count, copy);
    return timed;
}

Timed read_across(SharedRegion& region, Party me, std::int64_t bytes) {
    Timed timed{"process_vm_readv", bytes};
    const auto length = static_cast<std::size_t>(bytes);
    const auto own = std::make_unique<std::byte[]>(length + 1);
    std::memset(own.get(), 1, length + 1);
    const std::int64_t pid = region.exchange(me, getpid());
    const std::int64_t address =
        region.exchange(me, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(own.get())));
    if (me == Party::first) {
        const MonotonicClock clock;
        const auto to = std::make_unique<std::byte[]>(length + 1);
        std::memset(to.get(), 2, length + 1);
        const auto read = [&]() -> std::int64_t {
            const iovec here{to.get(), length};
            const iovec there{reinterpret_cast<void*>(static_cast<std::intptr_t>(address)), length};
            const std::int64_t begin_ns = clock.now_ns();
            const ssize_t got = process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
            const std::int64_t took_ns = clock.now_ns() - begin_ns;
            if (got >= 0 && static_cast<std::size_t>(got) == length) return took_ns;
            timed.reason = "process_vm_readv: " + std::string(got < 0 ? std::strerror(errno) : "read a part");
            return -1;
        };
        const std::int64_t once_ns = read();
        const int count = once_ns < 0 ? 0 : once_ns > long_ns ? long_samples : samples;
        for (int i = 0; i < count && !timed.reason; ++i) timed.samples_ns.push_back(read());
        if (timed.reason) timed.samples_ns.clear();
    }
    region.exchange(me, 0);  // until here the memory has to be there
    return timed;
}

}  // namespace slowpath::yardstick
