// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/obstacles.hpp"
#include "mockups/reductions.hpp"

namespace slowpath::mockups {

namespace {

// The block form: each rank gets receive_count elements.

int reduce_and_scatter(const Arguments& a, Workspace& workspace) {
    const int elements = a.receive_count * size_of(a.communicator);
    const bool first = rank_in(a.communicator) == 0;
    void* const whole = first ? room_for(workspace, Scratch::output, elements, a.receive_type) : nullptr;
    SLOWPATH_STEP(
        SLOWPATH_MPI(Reduce)(input_of(a), whole, elements, a.receive_type, a.op, 0, a.communicator));
    return SLOWPATH_MPI(Scatter)(whole, a.receive_count, a.receive_type, a.receive, a.receive_count,
                                 a.receive_type, 0, a.communicator);
}

int block_by_reduce_scatter(const Arguments& a, Workspace&) {
    const std::vector<int> counts(static_cast<std::size_t>(size_of(a.communicator)), a.receive_count);
    return SLOWPATH_MPI(Reduce_scatter)(a.send, a.receive, counts.data(), a.receive_type, a.op,
                                        a.communicator);
}

int block_by_allreduce(const Arguments& a, Workspace& workspace) {
    const int elements = a.receive_count * size_of(a.communicator);
    void* const whole = room_for(workspace, Scratch::output, elements, a.receive_type);
    SLOWPATH_STEP(
        SLOWPATH_MPI(Allreduce)(input_of(a), whole, elements, a.receive_type, a.op, a.communicator));
    return copy(workspace,
                element(whole, std::int64_t{rank_in(a.communicator)} * a.receive_count, a.receive_type),
                a.receive, a.receive_count, a.receive_type);
}

int block_nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Ireduce_scatter_block)(a.send, a.receive, a.receive_count, a.receive_type,
                                                      a.op, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

// With lengths, which all ranks know.

struct Parts {
    explicit Parts(const Arguments& a) {
        const auto counts = std::span(a.receive_counts, static_cast<std::size_t>(size_of(a.communicator)));
        for (const int count : counts) {
            displacements.push_back(elements);
            elements += count;
        }
        own = counts[static_cast<std::size_t>(rank_in(a.communicator))];
    }
    std::vector<int> displacements;
    int elements = 0;
    int own = 0;
};

int by_allreduce(const Arguments& a, Workspace& workspace) {
    const Parts parts(a);
    void* const whole = room_for(workspace, Scratch::output, parts.elements, a.receive_type);
    SLOWPATH_STEP(
        SLOWPATH_MPI(Allreduce)(input_of(a), whole, parts.elements, a.receive_type, a.op, a.communicator));
    const int from = parts.displacements[static_cast<std::size_t>(rank_in(a.communicator))];
    return copy(workspace, element(whole, from, a.receive_type), a.receive, parts.own, a.receive_type);
}

int by_reduce_scatterv(const Arguments& a, Workspace& workspace) {
    const Parts parts(a);
    const bool first = rank_in(a.communicator) == 0;
    void* const whole =
        first ? room_for(workspace, Scratch::output, parts.elements, a.receive_type) : nullptr;
    SLOWPATH_STEP(
        SLOWPATH_MPI(Reduce)(input_of(a), whole, parts.elements, a.receive_type, a.op, 0, a.communicator));
    return SLOWPATH_MPI(Scatterv)(whole, a.receive_counts, parts.displacements.data(), a.receive_type,
                                  a.receive, parts.own, a.receive_type, 0, a.communicator);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Ireduce_scatter)(a.send, a.receive, a.receive_counts, a.receive_type, a.op,
                                                a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"reduce+scatter", Collective::reduce_scatter_block, unless_counted, reduce_and_scatter},
    {"reduce_scatter", Collective::reduce_scatter_block, unless_own_op, block_by_reduce_scatter},
    {"allreduce", Collective::reduce_scatter_block, unless_counted, block_by_allreduce},
    {"nonblocking", Collective::reduce_scatter_block, unless_counted, block_nonblocking},
    {"allreduce", Collective::reduce_scatter, unless_counted, by_allreduce},
    {"reduce+scatterv", Collective::reduce_scatter, unless_counted, by_reduce_scatterv},
    {"nonblocking", Collective::reduce_scatter, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_reduce_scatter() {
    return all;
}

}  // namespace slowpath::mockups
