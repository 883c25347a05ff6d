// SPDX-License-Identifier: Apache-2.0
/// Single calls with all that is known of each, in windows of time that are thinned when the room is full.
#pragma once

#include <cstdint>

#include "watch/lanes.hpp"

namespace slowpath::watch {

/// Add an event of a call that was entered at `event.start_ticks`, if its window is kept.
void add_event(Lane& lane, const layout::Event& event);

}  // namespace slowpath::watch
