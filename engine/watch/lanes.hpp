// SPDX-License-Identifier: Apache-2.0
/// What each thread has to itself: counts, profile, events, and the places it calls from.
///
/// What is kept from before a call until after it: the thread's own, so that calls of several threads do not
/// meet.
///
/// What each thread does now, where others can read it: which call it is in, at which place, and whom it may
/// wait for there. Of a program that hangs nothing else is known, for a call is recorded when it has
/// returned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watch/buffers.hpp"
#include "watch/call.hpp"
#include "watch/file.hpp"
#include "watch/lock.hpp"
#include "watch/observer.hpp"
#include "watch/plan.hpp"
#include "watch/streams.hpp"

namespace slowpath::watch {

/// A place in the program that this lane has met.
struct SiteSlot {
    const void* caller;
    const void* frame;
    std::uint32_t site;
    std::uint32_t profile;  ///< 1 + row that a call from here counted in last; 0: none
    std::uint32_t second;   ///< the same, of the receiving side of MPI_Sendrecv
    std::uint32_t
        look_at;  ///< from when on its line in Python is looked up again, in units of look_unit ticks
    std::uint16_t python;    ///< number of the line that was found last; 0: none
    std::uint16_t looks;     ///< how often it was looked up, up to a few; 0: never, for Python is not there
    std::uint32_t repeated;  ///< row of Lane::repeated that a call from here was like last
};

/// A place in the program that makes a call which is counted, and timed now and then or never.
struct CountedPlace {
    static constexpr std::size_t slots = 256;

    const void* caller = nullptr;
    const void* frame = nullptr;
    Word source = 0, communicator = 0;  ///< that a probe asks for, whatever its tag; else 0
    Call call = 0;
    std::uint8_t most = 0;           ///< calls that go by untimed before one that stands for them
    std::uint8_t left = 0;           ///< of these
    std::uint8_t untimed = 0;        ///< since the last one that was timed; nothing counts them yet
    layout::Profile* row = nullptr;  ///< that counts them
    std::uint64_t ticks = 0;         ///< of the last one that was timed
    std::uint64_t since_ticks = 0;   ///< a poll's: return of the one before that was timed; 0: none

    static std::size_t slot(const void* from, const void* at, Word source_rank = 0) {
        const auto address = reinterpret_cast<std::uintptr_t>(from) ^ source_rank;
        return (address ^ address >> 8 ^ reinterpret_cast<std::uintptr_t>(at) >> 4) % slots;
    }
    bool is_of(const void* from, const void* at, Call number, Word source_rank = 0, Word asked = 0) const {
        return caller == from && frame == at && call == number && source == source_rank &&
               communicator == asked;
    }
    /// @return Whether the next call is not timed.
    bool skips() {
        if (left == 0) return false;
        --left;
        ++untimed;
        return true;
    }
};

/// Events from `begin` on are of this window.
struct WindowRun {
    std::uint64_t window;
    std::uint32_t begin;
};

/// The receiving side of an exchange.
struct Arriving {
    Stream stream;
    StreamCounter counter;
    std::uint32_t profile;  ///< as SiteSlot::profile
    std::int32_t peer;      ///< world rank
    std::uint16_t buffer_class;
    std::uint8_t flags;
};

/// A call that was made from a place with these arguments, and what came of it (repeated.hpp).
struct Repeated {
    static constexpr std::uint8_t no_buffer = 0xff;

    Word arguments[most_fixed];  ///< those of Plan::fixed
    layout::Event event;         ///< but for times, numbers and what is particular to the buffer
    Stream stream;
    std::uint32_t generation;  ///< 0: none
    std::uint64_t payload_bytes;
    std::uint8_t flags;      ///< of the profile's key
    std::uint8_t buffer_at;  ///< argument; no_buffer: the call has none
    std::uint8_t untimed;    ///< how many like it were made since the last one whose time was taken
    std::uint64_t ticks;     ///< that one took, and those since are taken to take
    bool is_whole;           ///< the last message was as long as its buffer
    bool is_in_place;        ///< of a collective
    StreamCounter counter;
    Arriving arrival;
    BufferView buffer;               ///< of the last one that was looked at
    std::uint32_t thinned[4];        ///< calls that nothing counts yet, by where the buffer begins
    std::uint64_t thinned_ticks[4];  ///< of those that were timed
};

/// Of calls that were measured.
struct OwnCost {
    std::uint64_t ticks, calls;
};

struct Lane {
    static constexpr std::size_t repeated_slots = 2048;
    static constexpr std::size_t site_slots = 2048;
    static constexpr std::size_t profile_slots = 8192;

    layout::Lane* row;
    layout::Current* current;  ///< what its thread does now; nullptr: more than one thread has this lane
    bool found_nothing;        ///< the call that is being observed is a poll in vain
    bool is_shared;
    std::uint32_t number;
    SpinLock lock;

    Section<layout::Profile> profile;
    Section<layout::Event> events;

    std::uint64_t window_end_ticks;
    bool keeps_window;
    bool is_busy;                 ///< in the last window the watch took too much of the time (find_busy)
    bool has_thinned;             ///< some Repeated::thinned are not 0
    std::uint32_t untimed_polls;  ///< since the last call that was timed
    std::uint64_t window_begin_ticks, window_begin_calls;
    OwnCost own_cost[2];  ///< of calls that were recorded, and that were thinned
    WindowRun* runs;
    std::uint32_t run_count;

    Repeated repeated[repeated_slots];
    CountedPlace places[CountedPlace::slots];
    std::uint64_t unwound;
    SiteSlot sites[site_slots];
    std::uint32_t profile_index[profile_slots];  ///< 1 + row; 0: none
};

/// Recording, and how often it was begun; 0: it is off.
extern constinit std::uint32_t recording;

/// More than one thread may call MPI at once.
extern constinit bool is_multiple;

// The static model needs no call at first use.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Lane* own_lane;
[[gnu::tls_model("initial-exec")]] extern thread_local constinit std::uint32_t own_lane_since;
Lane& take_lane();

/// The lane of this thread. To be called while recording only.
inline Lane& current_lane() {
    return own_lane_since == recording ? *own_lane : take_lane();
}

void begin_lanes();
/// What was thinned is counted.
void end_lanes();
/// Of begin and end of the record, which are the first lane's.
void add_own_ticks(std::uint64_t ticks);

struct Scratch {
    static constexpr std::size_t inline_requests = 32;
    static constexpr std::size_t status_room = 64;  ///< no interface has a longer one

    std::size_t request_count;  ///< handles kept
    const Word* handles;
    char* statuses;  ///< ours in the place of ignored ones; nullptr: the program has its own
    Word handle;     ///< of a communicator, window, message or datatype that the call takes away

    void* mapped;              ///< room for many requests, which release() may keep for the next call
    std::size_t mapped_bytes;  ///< 0: there is none

    Word inline_handles[inline_requests];
    alignas(16) char inline_statuses[inline_requests * status_room];
};

/// nullptr: there is nothing to keep for this call.
Scratch* prepare(Observed& call, const Plan& plan);
void release(Scratch& scratch);

/// A call that can block is about to be made. Polls that find nothing are one stay: it lasts since the first
/// of them.
void show(Lane& lane, Observed& call, const Plan& plan, const Scratch* scratch);

/// It has returned.
inline void hide(const Lane& lane) {
    if (lane.current != nullptr) lane.current->doing = lane.found_nothing ? layout::polling : layout::outside;
}

}  // namespace slowpath::watch
