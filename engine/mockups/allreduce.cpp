// SPDX-License-Identifier: Apache-2.0
// Each keeps the order of the ranks as far as the library's own reductions do.

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/obstacles.hpp"
#include "mockups/parts.hpp"
#include "mockups/reductions.hpp"

namespace slowpath::mockups {

namespace {

/// Intel MPI's MPI_Reduce (2021.18) writes into the gaps of the receive buffer's elements, which its
/// MPI_Allreduce mostly leaves alone: there rank 0 does not reduce into the program's memory.
int reduce_bcast(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    if (rank == 0 && !is_basic(a.receive_type) && !is_dense(a.receive_type)) {
        void* const result = room_for(workspace, Scratch::output, a.receive_count, a.receive_type);
        SLOWPATH_STEP(SLOWPATH_MPI(Reduce)(input_of(a), result, a.receive_count, a.receive_type, a.op, 0,
                                           a.communicator));
        SLOWPATH_STEP(copy(workspace, result, a.receive, a.receive_count, a.receive_type));
        return SLOWPATH_MPI(Bcast)(a.receive, a.receive_count, a.receive_type, 0, a.communicator);
    }
    const void* const input = a.send != MPI_IN_PLACE ? a.send : rank == 0 ? MPI_IN_PLACE : a.receive;
    SLOWPATH_STEP(SLOWPATH_MPI(Reduce)(input, rank == 0 ? a.receive : nullptr, a.receive_count,
                                       a.receive_type, a.op, 0, a.communicator));
    return SLOWPATH_MPI(Bcast)(a.receive, a.receive_count, a.receive_type, 0, a.communicator);
}

int reduce_scatter_block_allgather(const Arguments& a, Workspace& workspace) {
    const int size = size_of(a.communicator);
    EqualBlocks blocks;
    SLOWPATH_STEP(equal_blocks(a, workspace, size, blocks));
    void* const mine = room_for(workspace, Scratch::output, blocks.block, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Reduce_scatter_block)(blocks.data, mine, blocks.block, a.receive_type, a.op,
                                                     a.communicator));
    void* const whole = blocks.is_padded ? room_for(workspace, Scratch::copy,
                                                    std::int64_t{blocks.block} * size, a.receive_type)
                                         : a.receive;
    SLOWPATH_STEP(SLOWPATH_MPI(Allgather)(mine, blocks.block, a.receive_type, whole, blocks.block,
                                          a.receive_type, a.communicator));
    return blocks.is_padded ? copy(workspace, whole, a.receive, a.receive_count, a.receive_type)
                            : MPI_SUCCESS;
}

int reduce_scatter_allgatherv(const Arguments& a, Workspace& workspace) {
    const Blocks blocks(a.receive_count, size_of(a.communicator));
    const int own = blocks.counts[static_cast<std::size_t>(rank_in(a.communicator))];
    void* const mine = room_for(workspace, Scratch::output, own, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Reduce_scatter)(input_of(a), mine, blocks.counts.data(), a.receive_type, a.op,
                                               a.communicator));
    return SLOWPATH_MPI(Allgatherv)(mine, own, a.receive_type, a.receive, blocks.counts.data(),
                                    blocks.displacements.data(), a.receive_type, a.communicator);
}

/// All vectors to all, reduced by each rank from the last to the first: Reduce_local puts its first operand
/// before its second.
int allgather_reduce_local(const Arguments& a, Workspace& workspace) {
    const int size = size_of(a.communicator);
    const Block vector(a.receive_count, a.receive_type);
    void* const all = vector.room(workspace, Scratch::output, size);
    SLOWPATH_STEP(SLOWPATH_MPI(Allgather)(input_of(a), vector.count(), vector.type(), all, vector.count(),
                                          vector.type(), a.communicator));
    SLOWPATH_STEP(copy(workspace, vector.at(all, size - 1), a.receive, a.receive_count, a.receive_type));
    for (int rank = size - 2; rank >= 0; --rank)
        SLOWPATH_STEP(SLOWPATH_MPI(Reduce_local)(vector.at(all, rank), a.receive, a.receive_count,
                                                 a.receive_type, a.op));
    return MPI_SUCCESS;
}

/// Padded to the next power of two above, and to an element for each rank at least, with copies of the first.
int padded(const Arguments& a, Workspace& workspace) {
    if (a.receive_count == 0) return call_library(a);
    const int size = size_of(a.communicator);
    int elements = 1;
    while (elements <= a.receive_count || elements < size) elements *= 2;
    void* const longer = room_for(workspace, Scratch::input, elements, a.receive_type);
    SLOWPATH_STEP(copy(workspace, input_of(a), longer, a.receive_count, a.receive_type));
    for (int i = a.receive_count; i < elements; ++i)
        SLOWPATH_STEP(copy(workspace, longer, element(longer, i, a.receive_type), 1, a.receive_type));
    void* const result = room_for(workspace, Scratch::output, elements, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Allreduce)(longer, result, elements, a.receive_type, a.op, a.communicator));
    return copy(workspace, result, a.receive, a.receive_count, a.receive_type);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Iallreduce)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                           a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

template <int parts>
int split(const Arguments& a, Workspace&) {
    return in_parts(a.receive_count, parts, [&a](int from, int length) {
        return SLOWPATH_MPI(Allreduce)(
            a.send == MPI_IN_PLACE ? MPI_IN_PLACE : element(a.send, from, a.receive_type),
            element(a.receive, from, a.receive_type), length, a.receive_type, a.op, a.communicator);
    });
}

constexpr Mockup all[] = {
    {"reduce+bcast", Collective::allreduce, unless_counted, reduce_bcast},
    {"reduce_scatter_block+allgather", Collective::allreduce, unless_own_op, reduce_scatter_block_allgather},
    {"reduce_scatter+allgatherv", Collective::allreduce, unless_own_op, reduce_scatter_allgatherv},
    {"allgather+reduce_local", Collective::allreduce, unless_counted, allgather_reduce_local},
    {"nonblocking", Collective::allreduce, unless_counted, nonblocking},
    {"padded", Collective::allreduce, unless_own_op, padded},
    {"split_2", Collective::allreduce, unless_own_op, split<2>},
    {"split_8", Collective::allreduce, unless_own_op, split<8>},
};

}  // namespace

std::span<const Mockup> of_allreduce() {
    return all;
}

}  // namespace slowpath::mockups
