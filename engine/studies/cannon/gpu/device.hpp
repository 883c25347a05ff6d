// SPDX-License-Identifier: Apache-2.0
/// Which GPU a rank uses, what the record says of it, and whether MPI takes its memory.
#pragma once

#include <optional>
#include <string>

#include "cannon/layout.hpp"
#include "experiment/context.hpp"

namespace slowpath::cannon::gpu {

/// Collective.  One rank a GPU: the ranks of a node take its devices in turn.
/// @return Why the ranks can't; nullopt: this rank's is number context.session.node_rank(), and current.
std::optional<std::string> take_device(Context& context);

/// Why MPI calls can't be given device memory: MPIX_Query_cuda_support of MPICH and Open MPI says no, or is
/// not there.  SLOWPATH_MPI_TAKES_DEVICE=on or off overrides what the library says.
std::optional<std::string> mpi_refuses_device();

/// A `note` of the event record with this rank's GPU (docs/internals/record.md).
std::string gpu_note(const Context& context, std::uint32_t cell);
/// A `note` with the library that multiplies and the grid.
std::string cublas_note(const std::string& name, const Layout& layout, std::uint32_t cell);

}  // namespace slowpath::cannon::gpu
