// SPDX-License-Identifier: Apache-2.0
/// Places in the program that call MPI.
///
/// Which programs and libraries are in memory, for whoever looks up the addresses of sites later.
#pragma once

#include <cstdint>

#include "watch/lanes.hpp"
#include "watch/observer.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {

inline std::size_t home_of_site(const void* caller, const void* frame) {
    return scatter(reinterpret_cast<std::uintptr_t>(caller) * 31 + reinterpret_cast<std::uintptr_t>(frame)) %
           Lane::site_slots;
}

SiteSlot& search_site(Lane& lane, const Observed& call);

/// Where the call was made: known by return address and frame; unwound when met for the first time.
inline SiteSlot& find_site(Lane& lane, const Observed& call) {
    SiteSlot& home = lane.sites[home_of_site(call.caller, call.frame)];
    const bool is_it = home.caller == call.caller && home.frame == call.frame && home.looks == 0;
    return is_it ? home : search_site(lane, call);
}

void begin_sites();

/// Write a line `map` for each executable mapping that has none yet.
void note_modules();

/// Of a library of MPI or this one.
bool is_mpi_path(const char* path);

/// Whether an address is in a mapping that was noted.
bool is_noted(std::uintptr_t address);

/// Whether an address is in a library of MPI or in this one: no frame of the program.
bool is_mpi(std::uintptr_t address);

/// Whether an address is in the program or a library of its own: not in the languages' libraries, nor MPI's.
bool is_own(std::uintptr_t address);

/// Whether an address is in mpi4py: what runs below it serves a call of its own, as pickling does.
bool is_binding(std::uintptr_t address);

void begin_modules();

}  // namespace slowpath::watch
