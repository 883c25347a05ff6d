// SPDX-License-Identifier: Apache-2.0
/// What the MPI library says about itself, and memory from it.
#pragma once

#include <cstddef>
#include <string>

namespace slowpath::mpi {

/// First line of MPI_Get_library_version, e.g. "MPICH Version: 5.0.2".
std::string library_version();

/// The MPI standard that the library implements, e.g. "4.1".
std::string standard_version();

/// MPI_Alloc_mem.  @throws Error.
void* allocate_memory(std::size_t bytes);
/// MPI_Free_mem.  @throws Error.
void free_memory(void* memory);

}  // namespace slowpath::mpi
