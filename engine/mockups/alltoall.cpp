// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"

namespace slowpath::mockups {

namespace {

struct Blocks {
    const void* data;
    int count;
    MPI_Datatype type;
};

/// What this rank sends: in place a copy of what it is about to write over.
int blocks_of(const Arguments& a, Workspace& workspace, int size, Blocks& blocks) {
    blocks = {a.send, a.send_count, a.send_type};
    if (a.send != MPI_IN_PLACE) return MPI_SUCCESS;
    const int elements = a.receive_count * size;
    void* const kept = room_for(workspace, Scratch::input, elements, a.receive_type);
    blocks = {kept, a.receive_count, a.receive_type};
    return copy(workspace, a.receive, kept, elements, a.receive_type);
}

int alltoallv(const Arguments& a, Workspace&) {
    const int size = size_of(a.communicator);
    std::vector<int> send;
    std::vector<int> send_from;
    std::vector<int> receive;
    std::vector<int> receive_from;
    for (int rank = 0; rank < size; ++rank) {
        receive.push_back(a.receive_count);
        receive_from.push_back(rank * a.receive_count);
        if (a.send == MPI_IN_PLACE) continue;
        send.push_back(a.send_count);
        send_from.push_back(rank * a.send_count);
    }
    return SLOWPATH_MPI(Alltoallv)(a.send, send.data(), send_from.data(), a.send_type, a.receive,
                                   receive.data(), receive_from.data(), a.receive_type, a.communicator);
}

/// Out of place, whatever the caller asked for.
int copied(const Arguments& a, Workspace& workspace) {
    Blocks blocks{};
    SLOWPATH_STEP(blocks_of(a, workspace, size_of(a.communicator), blocks));
    return SLOWPATH_MPI(Alltoall)(blocks.data, blocks.count, blocks.type, a.receive, a.receive_count,
                                  a.receive_type, a.communicator);
}

/// Round k: to the rank k after, from the rank k before. A rank that meets an error goes on, since others
/// wait for it.
int sendrecv(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    Blocks blocks{};
    SLOWPATH_STEP(blocks_of(a, workspace, size, blocks));
    int code = MPI_SUCCESS;
    for (int step = 0; step < size; ++step) {
        const int to = (rank + step) % size;
        const int from = (rank - step + size) % size;
        const int found = workspace.exchange(
            element(blocks.data, std::int64_t{to} * blocks.count, blocks.type), blocks.count, blocks.type, to,
            element(a.receive, std::int64_t{from} * a.receive_count, a.receive_type), a.receive_count,
            a.receive_type, from);
        if (code == MPI_SUCCESS) code = found;
    }
    return code;
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Ialltoall)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                          a.receive_type, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"alltoallv", Collective::alltoall, unless_counted, alltoallv},
    {"copy+alltoall", Collective::alltoall, unless_counted, copied},
    {"sendrecv", Collective::alltoall, unless_counted, sendrecv, true},
    {"nonblocking", Collective::alltoall, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_alltoall() {
    return all;
}

}  // namespace slowpath::mockups
