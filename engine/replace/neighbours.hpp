// SPDX-License-Identifier: Apache-2.0
/// The ranks of this job on this node, as /proc shows them: no message is sent, which a rank without this
/// library would not answer.
#pragma once

namespace slowpath::replace {

struct Neighbours {
    bool all_have_library = true;  ///< also where no launcher says which processes are ranks
    int without = -1;              ///< a rank that runs without libslowpath-coll.so
    bool is_first = true;          ///< this rank is the first one here that has it
};

/// To be asked when MPI_Init has returned, so that every rank runs its program.
Neighbours neighbours();

}  // namespace slowpath::replace
