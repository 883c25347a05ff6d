// SPDX-License-Identifier: Apache-2.0
/// Calls that communicate nothing and are answered at once (Family::local): counted by place, never timed,
/// for a program may make hundreds of millions of them. What such a call costs is measured on the library
/// itself.
#pragma once

#include "watch/lanes.hpp"
#include "watch/observer.hpp"

namespace slowpath::watch {

/// Count a call from a place that is not among the lane's, and note the place, which the wrapper counts then.
void meet_local(const Observed& call);

/// What one such call takes, ticks; 0: MPI can't be asked.
float measure_local_ticks();

}  // namespace slowpath::watch
