// SPDX-License-Identifier: Apache-2.0
/// The operations by MPI, whatever memory the pointers lead to.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "nccl/operation.hpp"

namespace slowpath::nccl {

/// Blocking.  @throws mpi::Error.
void call_mpi(const Call& call, const std::byte* from, std::byte* to, MPI_Comm communicator);

/// A duplicate of MPI_COMM_WORLD that returns error codes.
MPI_Comm duplicate_of_world();

}  // namespace slowpath::nccl
