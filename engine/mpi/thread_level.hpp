// SPDX-License-Identifier: Apache-2.0
/// With which support for threads MPI starts (MPI-4.1 section 11.6.2).
#pragma once

#include <optional>
#include <string>

namespace slowpath::mpi {

/// Names: single, funneled, serialized, multiple.
struct ThreadLevels {
    std::optional<std::string> asked;  ///< nullopt: MPI_Init, which asks for none
    std::string provided;
};

/// Starts MPI, with the level that SLOWPATH_THREAD_LEVEL names if it is set.
/// The engine itself calls MPI from one thread, but for cells of p2p with threads; what a level costs is the
/// library's own.
/// @throws UsageError: SLOWPATH_THREAD_LEVEL names no level.  @throws mpi::Error.
ThreadLevels initialise();

/// One sentence if less is provided than was asked for.
std::optional<std::string> too_low(const ThreadLevels& levels);

}  // namespace slowpath::mpi
