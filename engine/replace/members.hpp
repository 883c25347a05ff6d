// SPDX-License-Identifier: Apache-2.0
/// What is known of a communicator, kept as an attribute of it: asking costs no message and no lock.
#pragma once

#include <mpi.h>

namespace slowpath::replace {

struct Members {
    int rank = 0;
    int size = 0;
    /// An intracommunicator of ranks of this MPI_COMM_WORLD only: all of them have the same table. Ranks that
    /// were spawned, or that another job brought, may have none.
    bool share_the_table = false;
    /// The op and the datatype of the last reduction that the library would not refuse.
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// nullptr: the library does not know the communicator.
Members* members_of(MPI_Comm communicator);

}  // namespace slowpath::replace
