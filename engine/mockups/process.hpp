// SPDX-License-Identifier: Apache-2.0
/// What all mock-ups of a process share: two communicators, made once.  A communicator of the program's gets
/// none of its own, since libraries have few of them (MPICH 5.0.2: 2048 context ids).
#pragma once

#include <mpi.h>

#include <array>

namespace slowpath::mockups {

/// Makes what is shared, the first time.  Collective over MPI_COMM_WORLD.
/// @return False, on all ranks: the library refused, and no mock-up may run.
bool begin();

/// The ranks of MPI_COMM_WORLD in their order, for messages and copies of mock-ups: none of them meets one of
/// the program's. Errors come back as codes.
MPI_Comm ours();

/// The library puts elements of this datatype together by this op. It is asked on this rank alone, so that
/// its refusal is no more than a code.
bool reduces(MPI_Op op, MPI_Datatype type);

/// While it lives, an error of a call that has no communicator comes back as a code, and the program's
/// handler for it (that of MPI_COMM_WORLD or MPI_COMM_SELF, MPI-4.1 section 9.3) is not called.  Does nothing
/// where several threads may call MPI: their own errors would come back, too.
class ErrorsReturned {
  public:
    ErrorsReturned();
    ErrorsReturned(const ErrorsReturned&) = delete;
    ErrorsReturned& operator=(const ErrorsReturned&) = delete;
    ~ErrorsReturned();

  private:
    std::array<MPI_Errhandler, 2> before_{MPI_ERRHANDLER_NULL, MPI_ERRHANDLER_NULL};
};

/// A tag of `ours` that no other live communicator with a rank in common has; -1, on all ranks: none was
/// free. Collective over `of`.  Only programs with MPI_THREAD_MULTIPLE need more than one: calls of two
/// communicators that share ranks overlap there alone.
int claim_tag(MPI_Comm of);
void release_tag(int tag);

/// A tag for a message of this rank to itself that no other thread uses at the same time.
int self_tag();

}  // namespace slowpath::mockups
