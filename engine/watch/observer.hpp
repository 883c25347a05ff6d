// SPDX-License-Identifier: Apache-2.0
/// What the wrappers call, and the recorder does: once before and once after each outermost MPI call of a
/// thread.
#pragma once

#include "watch/call.hpp"
#include "watch/layout.hpp"
#include "watch/ticks.hpp"

namespace slowpath::watch {

/// What `before` leaves for `after`: room for a status that the program did not ask for, and handles that the
/// call will change.
struct Scratch;
struct SiteSlot;
struct Repeated;
struct CountedPlace;

/// One outermost call. The wrapper makes it on its stack.
struct Observed {
    /// Members one by one: zeros for all of it first would take several ns.
    Observed(Call number, Word* words, const void* from, const void* at)
        : call(number), arguments(words), caller(from), frame(at), error(0) {}

    Call call;
    Word* arguments;     ///< Shape::arguments words; `before` may put a status of ours in the place of an
                         ///< ignored one
    const void* caller;  ///< return address of the wrapper, or of the Fortran binding's caller
    const void*
        frame;  ///< address of the wrapper's frame: with `caller` it names a place in the program cheaply
    std::uint64_t start_ticks;
    std::uint64_t end_ticks;
    int error;  ///< what the call returned; 0: MPI_SUCCESS

    // What `before` leaves for the two below.
    layout::Current* current = nullptr;  ///< where others read since when it lasts; nullptr: nowhere
    SiteSlot* slot = nullptr;            ///< of the place; nullptr: `after` has to find it
    Repeated* repeated = nullptr;        ///< an earlier call like it; nullptr: none is known
    CountedPlace* place = nullptr;       ///< of a poll or a call that is sampled, and was met before
    bool is_untimed = false;  ///< the clock is not read: the times are those of an earlier one like it
    bool is_thinned = false;  ///< nothing is kept of it but that it was made, and its time
};

/// @return A scratch to hand to `after`; nullptr: nothing to remember, or recording is off.
Scratch* before(Observed& call);
void after(Observed& call, Scratch* scratch);

/// The call begins now.
inline void start_clock(Observed& call) {
    if (call.is_untimed) return;
    call.start_ticks = now_ticks();
    if (call.current != nullptr) call.current->since_ticks = call.start_ticks;
}

/// It has returned.
inline void stop_clock(Observed& call) {
    if (!call.is_untimed) call.end_ticks = now_ticks();
}

/// Entry of MPI_Init, MPI_Init_thread or MPI_Session_init returned well: open the record.  MPI_Finalize is
/// about to be called.
void begin_record();
void end_record();

}  // namespace slowpath::watch
