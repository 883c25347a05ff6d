// SPDX-License-Identifier: Apache-2.0
#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"

namespace slowpath::mockups {

namespace {

/// Round k: an empty message to the rank 2^k after, one from the rank 2^k before.
int dissemination(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    for (int step = 1; step < size; step *= 2)
        SLOWPATH_STEP(workspace.exchange(nullptr, 0, MPI_BYTE, (rank + step) % size, nullptr, 0, MPI_BYTE,
                                         (rank - step + size) % size));
    return MPI_SUCCESS;
}

/// No rank has the sum before all have given.
int allreduce(const Arguments& a, Workspace&) {
    int mine = 1;
    int all_of_them = 0;
    return SLOWPATH_MPI(Allreduce)(&mine, &all_of_them, 1, MPI_INT, MPI_SUM, a.communicator);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Ibarrier)(a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"dissemination", Collective::barrier, unless_counted, dissemination, true},
    {"allreduce", Collective::barrier, unless_counted, allreduce},
    {"nonblocking", Collective::barrier, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_barrier() {
    return all;
}

}  // namespace slowpath::mockups
