// SPDX-License-Identifier: Apache-2.0
/// Which programs and libraries are in memory, for whoever looks up the addresses of sites later.
#pragma once

#include <cstdint>

namespace slowpath::watch {

/// Write a line `map` for each executable mapping that has none yet.
void note_modules();

/// Whether an address is in a mapping that was noted.
bool is_noted(std::uintptr_t address);

/// Whether an address is in a library of MPI or in this one: no frame of the program.
bool is_mpi(std::uintptr_t address);

void begin_modules();

}  // namespace slowpath::watch
