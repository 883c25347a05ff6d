// SPDX-License-Identifier: Apache-2.0
/// Ranks that do not call wait without a core: a wait in MPI would take it from those that are measured.
#pragma once

#include <mpi.h>

namespace slowpath::coll {

/// The ranks from `members` on sleep until rank 0 calls wake(); they look every few milliseconds.
void sleep_outside(MPI_Comm control);
/// Called by rank 0.
void wake_outside(MPI_Comm control, int members);

}  // namespace slowpath::coll
