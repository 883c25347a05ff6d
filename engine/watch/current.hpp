// SPDX-License-Identifier: Apache-2.0
/// What each thread does now, where others can read it: which call it is in, at which place, and whom it may
/// wait for there. Of a program that hangs nothing else is known, for a call is recorded when it has
/// returned.
#pragma once

#include "watch/lanes.hpp"
#include "watch/observer.hpp"
#include "watch/plan.hpp"
#include "watch/scratch.hpp"

namespace slowpath::watch {

/// A call that can block is about to be made. Polls that find nothing are one stay: it lasts since the first
/// of them.
void show(Lane& lane, Observed& call, const Plan& plan, const Scratch* scratch);

/// It has returned.
inline void hide(const Lane& lane) {
    if (lane.current != nullptr) lane.current->doing = lane.found_nothing ? layout::polling : layout::outside;
}

}  // namespace slowpath::watch
