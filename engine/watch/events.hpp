// SPDX-License-Identifier: Apache-2.0
/// Single calls with all that is known of each, in windows of time that are thinned when the room is full.
#pragma once

#include <cstdint>

#include "watch/lanes.hpp"

namespace slowpath::watch {

/// Whether a call that was entered then leaves no event, because its window is not kept; counts it if so.
/// False where add_event has to decide.
inline bool leave_out(Lane& lane, std::uint64_t start_ticks) {
    if (lane.keeps_window || start_ticks >= lane.window_end_ticks) return false;
    ++lane.row->events_seen;
    return true;
}

/// Add an event of a call that was entered at `event.start_ticks`, if its window is kept.
void add_event(Lane& lane, const layout::Event& event);

}  // namespace slowpath::watch
