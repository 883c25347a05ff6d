// SPDX-License-Identifier: Apache-2.0
/// Receives that this process started and neither waited for nor cancelled: what a message is matched
/// against.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace slowpath::plant {

void opened(MPI_Request request);

/// @return Whether it was a receive that was open.
bool closed(MPI_Request request);

std::uint64_t open_receives();

}  // namespace slowpath::plant
