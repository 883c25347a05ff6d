// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/layout.hpp"

namespace slowpath::mockups {

namespace {

/// MPI_Alltoallw and its like take displacements in bytes.
int call_neighbors(const Arguments& a) {
    switch (a.collective) {
        case Collective::neighbor_allgather:
            return SLOWPATH_MPI(Neighbor_allgather)(a.send, a.send_count, a.send_type, a.receive,
                                                    a.receive_count, a.receive_type, a.communicator);
        case Collective::neighbor_allgatherv:
            return SLOWPATH_MPI(Neighbor_allgatherv)(a.send, a.send_count, a.send_type, a.receive,
                                                     a.receive_counts, a.receive_displacements,
                                                     a.receive_type, a.communicator);
        case Collective::neighbor_alltoall:
            return SLOWPATH_MPI(Neighbor_alltoall)(a.send, a.send_count, a.send_type, a.receive,
                                                   a.receive_count, a.receive_type, a.communicator);
        case Collective::neighbor_alltoallv:
            return SLOWPATH_MPI(Neighbor_alltoallv)(a.send, a.send_counts, a.send_displacements, a.send_type,
                                                    a.receive, a.receive_counts, a.receive_displacements,
                                                    a.receive_type, a.communicator);
        default: {
            // The only collective whose displacements are MPI_Aint: those of Arguments are widened.
            int in = 0;
            int out = 0;
            int weighted = 0;
            SLOWPATH_STEP(SLOWPATH_MPI(Dist_graph_neighbors_count)(a.communicator, &in, &out, &weighted));
            const std::vector<MPI_Aint> send(a.send_displacements, a.send_displacements + out);
            const std::vector<MPI_Aint> receive(a.receive_displacements, a.receive_displacements + in);
            return SLOWPATH_MPI(Neighbor_alltoallw)(a.send, a.send_counts, send.data(), a.send_types,
                                                    a.receive, a.receive_counts, receive.data(),
                                                    a.receive_types, a.communicator);
        }
    }
}

int call_reductions(const Arguments& a) {
    switch (a.collective) {
        case Collective::reduce:
            return SLOWPATH_MPI(Reduce)(a.send, a.receive, a.receive_count, a.receive_type, a.op, a.root,
                                        a.communicator);
        case Collective::allreduce:
            return SLOWPATH_MPI(Allreduce)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                           a.communicator);
        case Collective::reduce_scatter:
            return SLOWPATH_MPI(Reduce_scatter)(a.send, a.receive, a.receive_counts, a.receive_type, a.op,
                                                a.communicator);
        case Collective::reduce_scatter_block:
            return SLOWPATH_MPI(Reduce_scatter_block)(a.send, a.receive, a.receive_count, a.receive_type,
                                                      a.op, a.communicator);
        case Collective::scan:
            return SLOWPATH_MPI(Scan)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                      a.communicator);
        case Collective::exscan:
            return SLOWPATH_MPI(Exscan)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                        a.communicator);
        default:
            return call_neighbors(a);
    }
}

}  // namespace

int call_library(const Arguments& a) {
    switch (a.collective) {
        case Collective::barrier:
            return SLOWPATH_MPI(Barrier)(a.communicator);
        case Collective::bcast:
            return SLOWPATH_MPI(Bcast)(a.receive, a.receive_count, a.receive_type, a.root, a.communicator);
        case Collective::gather:
            return SLOWPATH_MPI(Gather)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                        a.receive_type, a.root, a.communicator);
        case Collective::gatherv:
            return SLOWPATH_MPI(Gatherv)(a.send, a.send_count, a.send_type, a.receive, a.receive_counts,
                                         a.receive_displacements, a.receive_type, a.root, a.communicator);
        case Collective::scatter:
            return SLOWPATH_MPI(Scatter)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                         a.receive_type, a.root, a.communicator);
        case Collective::scatterv:
            return SLOWPATH_MPI(Scatterv)(a.send, a.send_counts, a.send_displacements, a.send_type, a.receive,
                                          a.receive_count, a.receive_type, a.root, a.communicator);
        case Collective::allgather:
            return SLOWPATH_MPI(Allgather)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                           a.receive_type, a.communicator);
        case Collective::allgatherv:
            return SLOWPATH_MPI(Allgatherv)(a.send, a.send_count, a.send_type, a.receive, a.receive_counts,
                                            a.receive_displacements, a.receive_type, a.communicator);
        case Collective::alltoall:
            return SLOWPATH_MPI(Alltoall)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                          a.receive_type, a.communicator);
        case Collective::alltoallv:
            return SLOWPATH_MPI(Alltoallv)(a.send, a.send_counts, a.send_displacements, a.send_type,
                                           a.receive, a.receive_counts, a.receive_displacements,
                                           a.receive_type, a.communicator);
        case Collective::alltoallw:
            return SLOWPATH_MPI(Alltoallw)(a.send, a.send_counts, a.send_displacements, a.send_types,
                                           a.receive, a.receive_counts, a.receive_displacements,
                                           a.receive_types, a.communicator);
        default:
            return call_reductions(a);
    }
}

std::optional<std::int64_t> message_bytes(const Arguments& a) {
    // Only what this rank's role makes significant is looked at: the rest may be anything.
    const auto sent = [&] { return a.send_count * element_bytes(a.send_type); };
    const auto received = [&] { return a.receive_count * element_bytes(a.receive_type); };
    std::int64_t bytes = -1;
    switch (a.collective) {
        case Collective::barrier:
            bytes = 0;
            break;
        case Collective::gather:  // what the root receives means nothing elsewhere
            bytes = a.send == MPI_IN_PLACE ? received() : sent();
            break;
        case Collective::scatter:
            bytes = a.receive == MPI_IN_PLACE ? sent() : received();
            break;
        case Collective::bcast:
        case Collective::allgather:
        case Collective::alltoall:
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::reduce_scatter_block:
        case Collective::scan:
        case Collective::exscan:
            bytes = received();
            break;
        case Collective::allgatherv:
        case Collective::reduce_scatter: {
            if (a.receive_counts == nullptr) break;
            const int size = size_of(a.communicator);
            const auto counts = std::span(a.receive_counts, static_cast<std::size_t>(size));
            if (*std::min_element(counts.begin(), counts.end()) < 0) break;
            const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
            // Each count may be of another datatype elsewhere, their sum in bytes is the same.
            bytes = all * element_bytes(a.receive_type) / size;
            break;
        }
        default:
            break;
    }
    if (bytes < 0) return std::nullopt;
    return bytes;
}

}  // namespace slowpath::mockups
