// SPDX-License-Identifier: Apache-2.0
/// What the parts of the recorder that look at one sort of call have in common.
#pragma once

#include <cstdint>

#include "watch/buffers.hpp"
#include "watch/events.hpp"
#include "watch/lanes.hpp"
#include "watch/layout.hpp"
#include "watch/lock.hpp"
#include "watch/observer.hpp"
#include "watch/plan.hpp"
#include "watch/requests.hpp"

namespace slowpath::watch {

/// A call that has returned, and where it came from.
struct Seen {
    const Observed& call;
    const Plan& plan;
    Lane& lane;
    const Scratch* scratch;
    SiteSlot& slot;

    bool has(Role role) const { return plan.has(role); }
    Word word(Role role) const { return plan.of(call.arguments, role); }
    std::int32_t integer(Role role) const { return static_cast<std::int32_t>(word(role)); }
    std::uint64_t count(Role role) const {
        const auto given =
            plan.is_large ? static_cast<std::int64_t>(word(role)) : std::int64_t{integer(role)};
        return given < 0 ? 0 : static_cast<std::uint64_t>(given);
    }
    /// The n-th of an array of counts.
    std::uint64_t count_at(Role role, std::size_t index) const;
    const void* pointer(Role role) const { return reinterpret_cast<const void*>(word(role)); }
    /// Whether a call has written a handle there. MPICH returns MPI_SUCCESS from a call that it refused where
    /// the program's error handler returns, so a pointer may still be null.
    bool made(Role role) const { return call.error == 0 && has(role) && pointer(role) != nullptr; }
    /// What a pointer to an int says now; 0 where there is none, which a call that failed may have been
    /// given.
    std::int32_t said(Role role) const {
        return pointer(role) == nullptr ? 0 : *static_cast<const std::int32_t*>(pointer(role));
    }
    std::uint64_t ticks() const { return call.end_ticks - call.start_ticks; }
};

/// One side of a call: what is sent, or where it arrives.
struct Payload {
    const void* address = nullptr;  ///< nullptr: none that is known
    std::uint64_t bytes = 0;
    std::uint16_t datatype = layout::no_row;
    bool has_gaps = false;
    BufferView buffer;
    std::uint32_t start_offset = 0;
};

/// In a page of 2 MiB.
inline std::uint32_t start_offset_of(Word address) {
    return static_cast<std::uint32_t>(address & ((2 << 20) - 1));
}

/// Without its memory.
Payload view_type(std::uint64_t count, Word datatype);
/// Nothing where the call failed, for its arguments may be what MPI refused, or where nothing is sent.
Payload view_payload(const Seen& seen, const void* address, std::uint64_t count, Word datatype);
/// @param buffer, count, datatype A role that the call does not have stands for nothing.
Payload view_payload(const Seen& seen, Role buffer, Role count, Role datatype);

/// The communicator's row. A call that failed may have named none: of that, MPI is asked nothing, for it
/// would call the program's error handler once more.
std::uint16_t row_of(const Seen& seen);

/// An event of the call as such: times, site, no message.
inline layout::Event event_of(const Seen& seen) {
    layout::Event event{};
    event.start_ticks = seen.call.start_ticks;
    event.end_ticks = seen.call.end_ticks;
    event.site = seen.slot.site;
    event.peer = layout::none;
    event.tag = -1;
    event.allocation = layout::not_known;
    event.call = seen.call.call;
    event.kind = seen.plan.kind;
    event.communicator = event.datatype = layout::no_row;
    return event;
}
void describe(layout::Event& event, const Payload& payload);

enum class Timed : bool { no, yes };

/// Count an event's key; with no time where the time is counted elsewhere.
void count_event(const Seen& seen, const layout::Event& event, const Payload& payload, Timed timed);
/// Count it and add it.
void keep_event(const Seen& seen, const layout::Event& event, const Payload& payload);

/// Remember the request that a call has made, with the event of its post.
/// @return For what is particular; nullptr: there is none, or no room.
Pending* post_request(const Seen& seen, const layout::Event& event, const Payload& payload);

/// Keep the event of a call that makes a persistent request: no message yet.
void keep_preparation(const Seen& seen, layout::Event event, const Payload& payload);

/// Holds what threads share: requests, streams, communicators.
extern constinit SpinLock shared_state;

void observe_send(const Seen& seen);
void observe_receive(const Seen& seen);
void observe_matched_receive(const Seen& seen);
void observe_exchange(const Seen& seen);
void observe_start(const Seen& seen);
void observe_completion(const Seen& seen);
void observe_cancel(const Seen& seen);
void observe_free_request(const Seen& seen);
void observe_probe(const Seen& seen);
void observe_collective(const Seen& seen);
void observe_transfer(const Seen& seen);
void observe_epoch(const Seen& seen);
/// Of files and packing how much they move, and whether it has gaps; of collective calls on files which one.
void observe_plain(const Seen& seen);
/// The program is done with an epoch of a window.
void end_epoch(Word window);
void observe_window_made(const Seen& seen);
void observe_window_freed(const Seen& seen);
void observe_communicator_made(const Seen& seen);
void observe_communicator_freed(const Seen& seen);
void observe_communicator_named(const Seen& seen);

/// MPI_Init or MPI_Session_init has returned, and the record is open.
void note_start(const Observed& call);
/// MPI_Session_finalize has returned: there may be other sessions, but what follows may be the program's end.
void note_session_end();

void begin_windows();
void begin_messages();

}  // namespace slowpath::watch
