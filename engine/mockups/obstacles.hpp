// SPDX-License-Identifier: Apache-2.0
/// Why a mock-up can't stand in for a collective. Each answer rests on what is the same on all ranks:
/// MPI_IN_PLACE and datatypes are not.
#pragma once

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

/// An intercommunicator, or lengths that an int does not count.
const char* unless_counted(const Arguments&);

/// As above, and nor for an op of the program's own: one that is called with more or fewer elements than the
/// program reduces, or by the library's reduce_scatter.  MPICH 5.0.2 (and 4.x) gives wrong results there, and
/// writes past its memory, where the op does not commute and elements have gaps: its algorithms for such ops
/// step by true extents where elements lie extents apart (reduce_scatter_block_intra_noncommutative.c).
const char* unless_own_op(const Arguments&);

}  // namespace slowpath::mockups
