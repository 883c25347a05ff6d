// SPDX-License-Identifier: Apache-2.0
/// Places in the program that call MPI.
///
/// Which programs and libraries are in memory, for whoever looks up the addresses of sites later.
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

/// Write a line `map` for each executable mapping that has none yet.
void note_modules();

/// Whether an address is in a mapping that was noted.
bool is_noted(std::uintptr_t address);

/// Whether an address is in a library of MPI or in this one: no frame of the program.
bool is_mpi(std::uintptr_t address);

void begin_modules();

}  // namespace slowpath::watch
