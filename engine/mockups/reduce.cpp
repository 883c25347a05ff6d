// SPDX-License-Identifier: Apache-2.0
// Each keeps the order of the ranks as far as the library's own reductions do.

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/obstacles.hpp"
#include "mockups/parts.hpp"
#include "mockups/reductions.hpp"

namespace slowpath::mockups {

namespace {

bool is_root(const Arguments& a) {
    return rank_in(a.communicator) == a.root;
}

/// Ranks that are not the root receive what they have no use for. In place is known to the root alone, so
/// that nobody reduces in place.
int allreduce(const Arguments& a, Workspace& workspace) {
    const void* input = input_of(a);
    void* result = a.receive;
    if (!is_root(a)) {
        result = room_for(workspace, Scratch::output, a.receive_count, a.receive_type);
    } else if (a.send == MPI_IN_PLACE) {
        void* const kept = room_for(workspace, Scratch::input, a.receive_count, a.receive_type);
        SLOWPATH_STEP(copy(workspace, a.receive, kept, a.receive_count, a.receive_type));
        input = kept;
    }
    return SLOWPATH_MPI(Allreduce)(input, result, a.receive_count, a.receive_type, a.op, a.communicator);
}

int reduce_scatter_block_gather(const Arguments& a, Workspace& workspace) {
    const int size = size_of(a.communicator);
    EqualBlocks blocks;
    SLOWPATH_STEP(equal_blocks(a, workspace, size, blocks));
    void* const mine = room_for(workspace, Scratch::output, blocks.block, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Reduce_scatter_block)(blocks.data, mine, blocks.block, a.receive_type, a.op,
                                                     a.communicator));
    const bool is_padded_here = is_root(a) && blocks.is_padded;
    void* const whole =
        is_padded_here ? room_for(workspace, Scratch::copy, std::int64_t{blocks.block} * size, a.receive_type)
                       : a.receive;
    SLOWPATH_STEP(SLOWPATH_MPI(Gather)(mine, blocks.block, a.receive_type, whole, blocks.block,
                                       a.receive_type, a.root, a.communicator));
    return is_padded_here ? copy(workspace, whole, a.receive, a.receive_count, a.receive_type) : MPI_SUCCESS;
}

int reduce_scatter_gatherv(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const Blocks blocks(a.receive_count, size_of(a.communicator));
    const int own = blocks.counts[static_cast<std::size_t>(rank)];
    void* const mine = room_for(workspace, Scratch::output, own, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Reduce_scatter)(input_of(a), mine, blocks.counts.data(), a.receive_type, a.op,
                                               a.communicator));
    return SLOWPATH_MPI(Gatherv)(mine, own, a.receive_type, a.receive, blocks.counts.data(),
                                 blocks.displacements.data(), a.receive_type, a.root, a.communicator);
}

/// All elements are the root's part.
int reduce_scatter(const Arguments& a, Workspace& workspace) {
    std::vector<int> counts(static_cast<std::size_t>(size_of(a.communicator)));
    counts[static_cast<std::size_t>(a.root)] = a.receive_count;
    const void* input = input_of(a);
    if (a.send == MPI_IN_PLACE) {
        void* const kept = room_for(workspace, Scratch::input, a.receive_count, a.receive_type);
        SLOWPATH_STEP(copy(workspace, a.receive, kept, a.receive_count, a.receive_type));
        input = kept;
    }
    void* const result = is_root(a) ? a.receive : room_for(workspace, Scratch::output, 1, a.receive_type);
    return SLOWPATH_MPI(Reduce_scatter)(input, result, counts.data(), a.receive_type, a.op, a.communicator);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Ireduce)(a.send, a.receive, a.receive_count, a.receive_type, a.op, a.root,
                                        a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

template <int parts>
int split(const Arguments& a, Workspace&) {
    return in_parts(a.receive_count, parts, [&a, writes = is_root(a)](int from, int length) {
        return SLOWPATH_MPI(Reduce)(
            a.send == MPI_IN_PLACE ? MPI_IN_PLACE : element(a.send, from, a.receive_type),
            writes ? element(a.receive, from, a.receive_type) : nullptr, length, a.receive_type, a.op, a.root,
            a.communicator);
    });
}

constexpr Mockup all[] = {
    {"allreduce", Collective::reduce, unless_counted, allreduce},
    {"reduce_scatter_block+gather", Collective::reduce, unless_own_op, reduce_scatter_block_gather},
    {"reduce_scatter+gatherv", Collective::reduce, unless_own_op, reduce_scatter_gatherv},
    {"reduce_scatter", Collective::reduce, unless_own_op, reduce_scatter},
    {"nonblocking", Collective::reduce, unless_counted, nonblocking},
    {"split_2", Collective::reduce, unless_own_op, split<2>},
    {"split_8", Collective::reduce, unless_own_op, split<8>},
};

}  // namespace

std::span<const Mockup> of_reduce() {
    return all;
}

}  // namespace slowpath::mockups
