// SPDX-License-Identifier: Apache-2.0
/// Whether the MPI library can be given device memory: one that can't crashes, or worse.
#pragma once

#include <optional>
#include <string>

namespace slowpath::mpi {

/// Why point-to-point calls can't be given device memory: MPIX_Query_cuda_support of MPICH and Open MPI says
/// no or is not there, and no UCX with CUDA is in the process.  SLOWPATH_MPI_TAKES_DEVICE=on or off overrides
/// what the library says.
std::optional<std::string> messages_refuse_device();

}  // namespace slowpath::mpi
