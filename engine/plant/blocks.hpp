// SPDX-License-Identifier: Apache-2.0
/// How many contiguous pieces a datatype has.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace slowpath::plant {

/// Pieces of one element: those of MPI_Type_vector and MPI_Type_indexed and their kin; 0 for all other types.
std::uint64_t blocks_of(MPI_Datatype type);

}  // namespace slowpath::plant
