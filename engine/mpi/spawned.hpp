// SPDX-License-Identifier: Apache-2.0
/// A process that a running job starts by MPI_Comm_spawn: this same program, which does nothing.
#pragma once

#include <string>

namespace slowpath::mpi {

/// The only word on the command line of such a process.
inline constexpr const char* spawned_word = "spawned";

/// The file of this program.  @throws EnvironmentFailure: /proc does not say.
std::string own_program();

/// What such a process does: start MPI, disconnect from those that spawned it, end MPI.
/// @return Whether somebody spawned it.
bool be_spawned();

}  // namespace slowpath::mpi
