// SPDX-License-Identifier: Apache-2.0
/// Places in the program that call MPI.
#pragma once

#include <cstdint>

#include "watch/lanes.hpp"
#include "watch/observer.hpp"

namespace slowpath::watch {

/// Where the call was made: known by return address and frame; unwound when met for the first time.
SiteSlot& find_site(Lane& lane, const Observed& call);

/// A place that is known without unwinding: row 0.
void know_place(Lane& lane, const void* caller, const void* frame);

void begin_sites();

}  // namespace slowpath::watch
