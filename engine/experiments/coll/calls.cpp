// SPDX-License-Identifier: Apache-2.0
#include "coll/calls.hpp"

#include <cstddef>
#include <type_traits>

#include "mpi/optional.hpp"
#include "mpi/session.hpp"

#ifdef SLOWPATH_HAVE_PERSISTENT_COLLECTIVES
#define SLOWPATH_INIT(name) name##_init
#pragma weak MPI_Barrier_init
#pragma weak MPI_Bcast_init
#pragma weak MPI_Gather_init
#pragma weak MPI_Gatherv_init
#pragma weak MPI_Scatter_init
#pragma weak MPI_Scatterv_init
#pragma weak MPI_Allgather_init
#pragma weak MPI_Allgatherv_init
#pragma weak MPI_Alltoall_init
#pragma weak MPI_Alltoallv_init
#pragma weak MPI_Alltoallw_init
#pragma weak MPI_Reduce_init
#pragma weak MPI_Allreduce_init
#pragma weak MPI_Reduce_scatter_init
#pragma weak MPI_Reduce_scatter_block_init
#pragma weak MPI_Scan_init
#pragma weak MPI_Exscan_init
#pragma weak MPI_Neighbor_allgather_init
#pragma weak MPI_Neighbor_allgatherv_init
#pragma weak MPI_Neighbor_alltoall_init
#pragma weak MPI_Neighbor_alltoallv_init
#pragma weak MPI_Neighbor_alltoallw_init
#else
#define SLOWPATH_INIT(name) nullptr
#endif

namespace slowpath::coll {
namespace {

using mockups::Arguments;

/// How a collective is started: of its three functions one is called.
struct How {
    Start start;
    MPI_Request* request;

    template <class Blocking, class Nonblocking, class Persistent, class... Values>
    int operator()(Blocking blocking, Nonblocking nonblocking, [[maybe_unused]] Persistent persistent,
                   Values... values) const {
        if (start == Start::blocking) return blocking(values...);
        if (start == Start::nonblocking) return nonblocking(values..., request);
        if constexpr (std::is_same_v<Persistent, std::nullptr_t>)
            return MPI_ERR_OTHER;
        else
            return persistent(values..., MPI_INFO_NULL, request);
    }
};

/// The blocking, the nonblocking and the persistent function of one name.
#define SLOWPATH_CALL(blocking, nonblocking, ...) \
    how(blocking, nonblocking, SLOWPATH_INIT(blocking), __VA_ARGS__)

int issue_moving(const Arguments& a, const How& how) {
    switch (a.collective) {
        case Collective::barrier:
            return SLOWPATH_CALL(MPI_Barrier, MPI_Ibarrier, a.communicator);
        case Collective::bcast:
            return SLOWPATH_CALL(MPI_Bcast, MPI_Ibcast, a.receive, a.receive_count, a.receive_type, a.root,
                                 a.communicator);
        case Collective::gather:
            return SLOWPATH_CALL(MPI_Gather, MPI_Igather, a.send, a.send_count, a.send_type, a.receive,
                                 a.receive_count, a.receive_type, a.root, a.communicator);
        case Collective::gatherv:
            return SLOWPATH_CALL(MPI_Gatherv, MPI_Igatherv, a.send, a.send_count, a.send_type, a.receive,
                                 a.receive_counts, a.receive_displacements, a.receive_type, a.root,
                                 a.communicator);
        case Collective::scatter:
            return SLOWPATH_CALL(MPI_Scatter, MPI_Iscatter, a.send, a.send_count, a.send_type, a.receive,
                                 a.receive_count, a.receive_type, a.root, a.communicator);
        case Collective::scatterv:
            return SLOWPATH_CALL(MPI_Scatterv, MPI_Iscatterv, a.send, a.send_counts, a.send_displacements,
                                 a.send_type, a.receive, a.receive_count, a.receive_type, a.root,
                                 a.communicator);
        case Collective::allgather:
            return SLOWPATH_CALL(MPI_Allgather, MPI_Iallgather, a.send, a.send_count, a.send_type, a.receive,
                                 a.receive_count, a.receive_type, a.communicator);
        case Collective::allgatherv:
            return SLOWPATH_CALL(MPI_Allgatherv, MPI_Iallgatherv, a.send, a.send_count, a.send_type,
                                 a.receive, a.receive_counts, a.receive_displacements, a.receive_type,
                                 a.communicator);
        case Collective::alltoall:
            return SLOWPATH_CALL(MPI_Alltoall, MPI_Ialltoall, a.send, a.send_count, a.send_type, a.receive,
                                 a.receive_count, a.receive_type, a.communicator);
        case Collective::alltoallv:
            return SLOWPATH_CALL(MPI_Alltoallv, MPI_Ialltoallv, a.send, a.send_counts, a.send_displacements,
                                 a.send_type, a.receive, a.receive_counts, a.receive_displacements,
                                 a.receive_type, a.communicator);
        default:
            return SLOWPATH_CALL(MPI_Alltoallw, MPI_Ialltoallw, a.send, a.send_counts, a.send_displacements,
                                 a.send_types, a.receive, a.receive_counts, a.receive_displacements,
                                 a.receive_types, a.communicator);
    }
}

int issue_reduction(const Arguments& a, const How& how) {
    switch (a.collective) {
        case Collective::reduce:
            return SLOWPATH_CALL(MPI_Reduce, MPI_Ireduce, a.send, a.receive, a.receive_count, a.receive_type,
                                 a.op, a.root, a.communicator);
        case Collective::allreduce:
            return SLOWPATH_CALL(MPI_Allreduce, MPI_Iallreduce, a.send, a.receive, a.receive_count,
                                 a.receive_type, a.op, a.communicator);
        case Collective::reduce_scatter:
            return SLOWPATH_CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, a.send, a.receive, a.receive_counts,
                                 a.receive_type, a.op, a.communicator);
        case Collective::reduce_scatter_block:
            return SLOWPATH_CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, a.send, a.receive,
                                 a.receive_count, a.receive_type, a.op, a.communicator);
        case Collective::scan:
            return SLOWPATH_CALL(MPI_Scan, MPI_Iscan, a.send, a.receive, a.receive_count, a.receive_type,
                                 a.op, a.communicator);
        default:
            return SLOWPATH_CALL(MPI_Exscan, MPI_Iexscan, a.send, a.receive, a.receive_count, a.receive_type,
                                 a.op, a.communicator);
    }
}

int issue_between_neighbours(const Operands& operands, const How& how) {
    const Arguments& a = operands.arguments();
    switch (a.collective) {
        case Collective::neighbor_allgather:
            return SLOWPATH_CALL(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, a.send, a.send_count,
                                 a.send_type, a.receive, a.receive_count, a.receive_type, a.communicator);
        case Collective::neighbor_allgatherv:
            return SLOWPATH_CALL(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, a.send, a.send_count,
                                 a.send_type, a.receive, a.receive_counts, a.receive_displacements,
                                 a.receive_type, a.communicator);
        case Collective::neighbor_alltoall:
            return SLOWPATH_CALL(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, a.send, a.send_count,
                                 a.send_type, a.receive, a.receive_count, a.receive_type, a.communicator);
        case Collective::neighbor_alltoallv:
            return SLOWPATH_CALL(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, a.send, a.send_counts,
                                 a.send_displacements, a.send_type, a.receive, a.receive_counts,
                                 a.receive_displacements, a.receive_type, a.communicator);
        default:
            return SLOWPATH_CALL(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, a.send, a.send_counts,
                                 operands.send_offsets(), a.send_types, a.receive, a.receive_counts,
                                 operands.receive_offsets(), a.receive_types, a.communicator);
    }
}

int issue(const Operands& operands, const How& how) {
    const Traits& kind = traits(operands.arguments().collective);
    if (kind.between_neighbours) return issue_between_neighbours(operands, how);
    return kind.reduces ? issue_reduction(operands.arguments(), how)
                        : issue_moving(operands.arguments(), how);
}

}  // namespace

bool has_persistent() {
#ifdef SLOWPATH_HAVE_PERSISTENT_COLLECTIVES
    return mpi::is_there(&MPI_Barrier_init) && mpi::is_there(&MPI_Neighbor_alltoallw_init);
#else
    return false;
#endif
}

Call::Call(const Config& config, const Operands& operands)
    : operands_(operands),
      start_(config.start),
      mockup_(config.by_library() ? nullptr : mockups::find(config.collective, config.way)) {
    if (start_ == Start::persistent)
        mpi::check(issue(operands_, {start_, &request_}), "MPI_..._init of the collective");
}

Call::~Call() {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
}

int Call::run() {
    if (mockup_ != nullptr) {
        // The first call pays for what the mock-up keeps, as the library's own does.
        if (workspace_ == nullptr) workspace_ = mockups::workspace_of(operands_.arguments().communicator);
        if (workspace_ == nullptr || (mockup_->sends && !workspace_->can_send())) return MPI_ERR_COMM;
        return mockup_->run(operands_.arguments(), *workspace_);
    }
    if (start_ == Start::blocking) return issue(operands_, {start_, nullptr});
    const int code = begin();
    return code == MPI_SUCCESS ? finish() : code;
}

int Call::begin() {
    return start_ == Start::persistent ? MPI_Start(&request_) : issue(operands_, {start_, &request_});
}

}  // namespace slowpath::coll
