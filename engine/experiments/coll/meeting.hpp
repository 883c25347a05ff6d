// SPDX-License-Identifier: Apache-2.0
/// Where the ranks that call come together before each call, without a message.
#pragma once

#include <mpi.h>

#include "mpi/shared_release.hpp"

namespace slowpath::coll {

struct Meeting {
    MPI_Comm callers;  ///< the ranks that call, for what is agreed between timed calls
    mpi::SharedRelease release;
};

/// Collective over `control`, whose first `members` ranks call.  It is kept until the process ends: making
/// one takes longer than a cell of short calls.  @return nullptr on ranks that do not call.
Meeting* meeting_of(MPI_Comm control, int members);

}  // namespace slowpath::coll
