// SPDX-License-Identifier: Apache-2.0
/// Byte strings of any length to rank 0.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>

namespace slowpath::mpi {

/// Collective.  Rank 0 gets every rank's bytes node by node, its own first, one rank at a time, so that it
/// holds one rank's at most.  Node leaders collect and pass on; ranks with nothing to say cost rank 0 no
/// message.  @param take Called on rank 0 only.
void gather(MPI_Comm communicator, std::span<const std::byte> mine,
            const std::function<void(int rank, std::span<const std::byte>)>& take);

}  // namespace slowpath::mpi
