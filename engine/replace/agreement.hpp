// SPDX-License-Identifier: Apache-2.0
/// Whether all ranks can replace calls: a rank that can't must not leave the others waiting.
#pragma once

namespace slowpath::replace {

/// Collective over MPI_COMM_WORLD, when MPI_Init has returned; by the MPI library itself, since this one may
/// lack the parts that are linked with it.
/// @param problem Why this rank can't replace calls; null: it can.
/// @param has_table SLOWPATH_COLL is set here; rank 0's counts.
/// @return All can, and rank 0 has a table. Else one rank has said why on standard error, but where no rank
/// was asked
///     to replace anything.
bool agree(const char* problem, bool has_table);

}  // namespace slowpath::replace
