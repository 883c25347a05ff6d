// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"

namespace slowpath::mockups {

namespace {

std::byte* block(const Arguments& a, std::int64_t rank) {
    return element(a.receive, rank * a.receive_count, a.receive_type);
}

/// This rank's block where the result has it; there already when in place.
int place_own(const Arguments& a, Workspace& workspace, int rank) {
    if (a.send == MPI_IN_PLACE) return MPI_SUCCESS;
    return copy(workspace, a.send, a.send_count, a.send_type, block(a, rank), a.receive_count,
                a.receive_type);
}

/// The own block is given in the datatype that it is received in. Open MPI 5.0.11 takes the bytes of all
/// blocks for the receive counts times the size of the datatype sent, and chooses an algorithm by them on
/// each rank: where ranks have datatypes of their own they would choose differently, and wait for ever.
int allgatherv(const Arguments& a, Workspace& workspace) {
    const void* own = a.send;
    int own_count = a.send_count;
    MPI_Datatype own_type = a.send_type;
    if (a.send != MPI_IN_PLACE && element_bytes(a.send_type) != element_bytes(a.receive_type)) {
        void* const copied = room_for(workspace, Scratch::input, a.receive_count, a.receive_type);
        SLOWPATH_STEP(
            copy(workspace, a.send, a.send_count, a.send_type, copied, a.receive_count, a.receive_type));
        own = copied;
        own_count = a.receive_count;
        own_type = a.receive_type;
    }
    std::vector<int> counts;
    std::vector<int> displacements;
    for (int rank = 0, size = size_of(a.communicator); rank < size; ++rank) {
        counts.push_back(a.receive_count);
        displacements.push_back(rank * a.receive_count);
    }
    return SLOWPATH_MPI(Allgatherv)(own, own_count, own_type, a.receive, counts.data(), displacements.data(),
                                    a.receive_type, a.communicator);
}

/// Each rank gives its block among zeros.
int allreduce(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    Flat whole(workspace, Scratch::output, a.receive, a.receive_count * size, a.receive_type);
    SLOWPATH_STEP(place_own(a, workspace, rank));
    SLOWPATH_STEP(whole.load());
    const int length = whole.bytes() / size;
    std::fill_n(whole.data(), rank * length, std::byte{0});
    std::fill_n(whole.data() + (rank + 1) * length, (size - 1 - rank) * length, std::byte{0});
    SLOWPATH_STEP(SLOWPATH_MPI(Allreduce)(MPI_IN_PLACE, whole.data(), whole.bytes(), MPI_BYTE, MPI_BOR,
                                          a.communicator));
    return whole.store();
}

/// The same block to everybody.
int alltoall(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    const bool in_place = a.send == MPI_IN_PLACE;
    const void* const own = in_place ? block(a, rank) : a.send;
    const int count = in_place ? a.receive_count : a.send_count;
    const MPI_Datatype type = in_place ? a.receive_type : a.send_type;
    const Block same(count, type);
    void* const copies = same.room(workspace, Scratch::input, size);
    for (int to = 0; to < size; ++to) SLOWPATH_STEP(copy(workspace, own, same.at(copies, to), count, type));
    return SLOWPATH_MPI(Alltoall)(copies, same.count(), same.type(), a.receive, a.receive_count,
                                  a.receive_type, a.communicator);
}

int gather_bcast(const Arguments& a, Workspace&) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    // In place at rank 0 its own block is where it belongs; the others send theirs.
    if (a.send != MPI_IN_PLACE)
        SLOWPATH_STEP(SLOWPATH_MPI(Gather)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                           a.receive_type, 0, a.communicator));
    else
        SLOWPATH_STEP(SLOWPATH_MPI(Gather)(
            rank == 0 ? MPI_IN_PLACE : static_cast<const void*>(block(a, rank)), a.receive_count,
            a.receive_type, a.receive, a.receive_count, a.receive_type, 0, a.communicator));
    return SLOWPATH_MPI(Bcast)(a.receive, a.receive_count * size, a.receive_type, 0, a.communicator);
}

/// Rounds in which what a rank has doubles: to the rank 2^k before, from the rank 2^k after. Blocks lie from
/// the own one on and are turned at the end.
int circulant(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    SLOWPATH_STEP(place_own(a, workspace, rank));
    void* const turned =
        room_for(workspace, Scratch::output, std::int64_t{a.receive_count} * size, a.receive_type);
    SLOWPATH_STEP(copy(workspace, block(a, rank), turned, a.receive_count, a.receive_type));
    for (int held = 1; held < size; held *= 2) {
        const int count = std::min(held, size - held) * a.receive_count;
        SLOWPATH_STEP(
            workspace.exchange(turned, count, a.receive_type, (rank - held + size) % size,
                               element(turned, std::int64_t{held} * a.receive_count, a.receive_type), count,
                               a.receive_type, (rank + held) % size));
    }
    const int behind = rank * a.receive_count;
    const int ahead = (size - rank) * a.receive_count;
    SLOWPATH_STEP(copy(workspace, turned, block(a, rank), ahead, a.receive_type));
    return copy(workspace, element(turned, ahead, a.receive_type), a.receive, behind, a.receive_type);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Iallgather)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                           a.receive_type, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"allgatherv", Collective::allgather, unless_counted, allgatherv},
    {"allreduce", Collective::allgather, unless_counted, allreduce},
    {"alltoall", Collective::allgather, unless_counted, alltoall},
    {"gather+bcast", Collective::allgather, unless_counted, gather_bcast},
    {"circulant", Collective::allgather, unless_counted, circulant, true},
    {"nonblocking", Collective::allgather, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_allgather() {
    return all;
}

}  // namespace slowpath::mockups
