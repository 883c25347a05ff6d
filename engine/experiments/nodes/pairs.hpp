// SPDX-License-Identifier: Apache-2.0
/// Messages between the two nodes of a pair, timed by the one that sends.
#pragma once

#include <mpi.h>

#include "nodes/nodes.hpp"

namespace slowpath::nodes {

/// Called by both ranks of a pair.  @param peer The other rank in MPI_COMM_WORLD.  @param control As
/// Session::control.
/// @return On the sender one series, on the receiver none.
Measured measure_pair(const Config& config, MPI_Comm control, int peer, bool sends);

}  // namespace slowpath::nodes
