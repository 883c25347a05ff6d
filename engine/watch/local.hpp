// SPDX-License-Identifier: Apache-2.0
/// Calls that communicate nothing and are answered at once (Family::local): counted by place, never timed,
/// for a program may make hundreds of millions of them. What such a call costs is measured on the library
/// itself.
#pragma once

#include "watch/lanes.hpp"
#include "watch/observer.hpp"

namespace slowpath::watch {

/// Count a call from a place that is not among the lane's, and note the place. Nothing where recording is
/// off.
void meet_local(const Observed& call);

/// Count a call that this thread makes outside of any other.
/// @return False: its place was not met yet, or recording is off.
inline bool is_counted(Call call, const void* caller, const void* frame) {
    if (recording == 0 || own_lane_since != recording) [[unlikely]]
        return false;
    const LocalPlace& place = own_lane->local[LocalPlace::slot(caller, frame)];
    if (place.caller != caller || place.frame != frame || place.call != call) [[unlikely]]
        return false;
    ++*place.count;
    return true;
}

inline void count_local(const Observed& call) {
    if (!is_counted(call.call, call.caller, call.frame)) meet_local(call);
}

/// What one such call takes, ticks; 0: MPI can't be asked.
float measure_local_ticks();

}  // namespace slowpath::watch
