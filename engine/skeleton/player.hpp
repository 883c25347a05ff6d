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

/// @throws EnvironmentFailure: the script is another rank's, or of a job of another size.
void require_of(const Script& script, int rank, int size);

/// Collective over MPI_COMM_WORLD, from a barrier to the rank's last operation.
/// @throws mpi::Error.
Times play(const Script& script);

}  // namespace slowpath::skeleton
