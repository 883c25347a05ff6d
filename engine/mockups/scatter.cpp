// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"

namespace slowpath::mockups {

namespace {

/// Everybody gets everything and takes its own block.
int bcast(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    if (rank == a.root) {
        SLOWPATH_STEP(SLOWPATH_MPI(Bcast)(const_cast<void*>(a.send), a.send_count * size, a.send_type, a.root,
                                          a.communicator));
        if (a.receive == MPI_IN_PLACE) return MPI_SUCCESS;
        return copy(workspace, element(a.send, std::int64_t{rank} * a.send_count, a.send_type), a.send_count,
                    a.send_type, a.receive, a.receive_count, a.receive_type);
    }
    const Block block(a.receive_count, a.receive_type);
    void* const blocks = block.room(workspace, Scratch::output, size);
    SLOWPATH_STEP(SLOWPATH_MPI(Bcast)(blocks, block.count(size), block.type(), a.root, a.communicator));
    return copy(workspace, block.at(blocks, rank), a.receive, a.receive_count, a.receive_type);
}

int scatterv(const Arguments& a, Workspace&) {
    const int size = size_of(a.communicator);
    std::vector<int> counts;
    std::vector<int> displacements;
    if (rank_in(a.communicator) == a.root)
        for (int rank = 0; rank < size; ++rank) {
            counts.push_back(a.send_count);
            displacements.push_back(rank * a.send_count);
        }
    return SLOWPATH_MPI(Scatterv)(a.send, counts.data(), displacements.data(), a.send_type, a.receive,
                                  a.receive_count, a.receive_type, a.root, a.communicator);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Iscatter)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                         a.receive_type, a.root, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"bcast", Collective::scatter, unless_counted, bcast},
    {"scatterv", Collective::scatter, unless_counted, scatterv},
    {"nonblocking", Collective::scatter, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_scatter() {
    return all;
}

}  // namespace slowpath::mockups
