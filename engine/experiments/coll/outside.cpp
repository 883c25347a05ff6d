// SPDX-License-Identifier: Apache-2.0
#include "coll/outside.hpp"

#include <chrono>
#include <thread>

#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::coll {

void sleep_outside(MPI_Comm control) {
    using std::chrono::microseconds;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, mpi::tag::wake, control, &request), "MPI_Irecv");
    for (microseconds nap(500);; nap = std::min(2 * nap, microseconds(8000))) {
        int done = 0;
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        std::this_thread::sleep_for(nap);
    }
}

void wake_outside(MPI_Comm control, int members) {
    int size = 0;
    mpi::check(MPI_Comm_size(control, &size), "MPI_Comm_size");
    for (int rank = members; rank < size; ++rank)
        mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, rank, mpi::tag::wake, control), "MPI_Send");
}

}  // namespace slowpath::coll
