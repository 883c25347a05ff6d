// SPDX-License-Identifier: Apache-2.0
/// What each request was posted for, until it is complete.
///
/// What MPI says of a message that has arrived.
#pragma once

#include <cstdint>

#include "watch/call.hpp"
#include "watch/lanes.hpp"
#include "watch/layout.hpp"
#include "watch/plan.hpp"
#include "watch/streams.hpp"

namespace slowpath::watch {

struct Pending {
    std::uint64_t key;            ///< 1 + handle
    const void* location;         ///< of the program's handle when it was posted
    layout::Event event;          ///< of the post; its peer is a world rank
    Stream stream;                ///< receives: what was asked for
    std::uint32_t order;          ///< see post_receive
    Repeated* repeated;           ///< the earlier post that it is like; nullptr: none is known
    std::uint32_t* profile_hint;  ///< where the row that it counts in is noted, in its thread's lane
    std::uint64_t post_ticks;     ///< 0: its time is not counted with it
    std::uint64_t allocation_bytes;
    std::uint16_t buffer_class;
    Lasting lasting;
    std::uint8_t profile_flags;
    bool is_active;
    bool is_numbered;
};

/// Serial of a new request, from 1.
std::uint32_t next_serial();

/// Room to remember a request, whose event and what follows from it the caller fills; nullptr: none. It is
/// put aside where one of the same handle is still there: libraries give one handle to all requests that are
/// complete when they are made.
Pending* remember_request(Word handle, const void* location);

/// @param location Where the program keeps the handle now. nullptr: nobody knows of it. Valid until the next
/// call of these.
Pending* find_request(Word handle, const void* location);
void forget_request(Pending* pending);

/// How many persistent requests of this handle, or of one that shares its place, were started and are not
/// complete: of thousands in one MPI_Waitall, those that are idle are told by this.
std::uint32_t& started(Word handle);

/// One was posted of which nothing but its place is kept.
void remember_thinned(const void* location, std::uint32_t site);
/// The place of one that is complete or freed; false: nothing was kept of it.
bool take_thinned(const void* location, std::uint32_t& site);

/// A request was completed or freed. @param site Where it was posted; layout::not_known: nobody knows.
void request_gone(std::uint32_t site);
/// Write down how many of each place are gone. Those that nobody knows of may be any place's.
void note_requests();

void begin_requests();

struct Arrival {
    std::int32_t source;
    std::int32_t tag;
    std::uint64_t bytes;
    bool is_cancelled;
};

/// @param status An MPI_Status that MPI has filled; nullptr: not known.
Arrival read_status(const void* status);

}  // namespace slowpath::watch
