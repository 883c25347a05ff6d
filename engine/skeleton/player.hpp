// SPDX-License-Identifier: Apache-2.0
/// Plays a script under MPI, and says how long each kind of operation took.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "skeleton/script.hpp"

namespace slowpath::skeleton {

/// By kind: operations, and nanoseconds in them.
struct Times {
    std::array<std::int64_t, names.size()> calls{};
    std::array<std::int64_t, names.size()> length_ns{};
    std::int64_t total_ns = 0;
};

/// Collective over MPI_COMM_WORLD, from a barrier to the rank's last operation.
/// @throws mpi::Error, EnvironmentFailure: the script is another rank's.
Times play(const Script& script, int rank, int size);

}  // namespace slowpath::skeleton
