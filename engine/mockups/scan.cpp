// SPDX-License-Identifier: Apache-2.0
// Scans keep the order of the ranks whatever the op is. Reduce_local puts its first operand before its
// second.
#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/obstacles.hpp"
#include "mockups/reductions.hpp"

namespace slowpath::mockups {

namespace {

int place_own(const Arguments& a, Workspace& workspace) {
    if (a.send == MPI_IN_PLACE) return MPI_SUCCESS;
    return copy(workspace, a.send, a.receive, a.receive_count, a.receive_type);
}

int exscan_reduce_local(const Arguments& a, Workspace& workspace) {
    void* const before = room_for(workspace, Scratch::output, a.receive_count, a.receive_type);
    SLOWPATH_STEP(
        SLOWPATH_MPI(Exscan)(input_of(a), before, a.receive_count, a.receive_type, a.op, a.communicator));
    SLOWPATH_STEP(place_own(a, workspace));
    if (rank_in(a.communicator) == 0) return MPI_SUCCESS;
    return SLOWPATH_MPI(Reduce_local)(before, a.receive, a.receive_count, a.receive_type, a.op);
}

/// The vectors of all ranks; `receive` becomes the reduction of those up to `last`.
int gathered(const Arguments& a, Workspace& workspace, int last) {
    const Block vector(a.receive_count, a.receive_type);
    void* const all = vector.room(workspace, Scratch::output, size_of(a.communicator));
    SLOWPATH_STEP(SLOWPATH_MPI(Allgather)(input_of(a), vector.count(), vector.type(), all, vector.count(),
                                          vector.type(), a.communicator));
    if (last < 0) return MPI_SUCCESS;
    SLOWPATH_STEP(copy(workspace, vector.at(all, last), a.receive, a.receive_count, a.receive_type));
    for (int rank = last - 1; rank >= 0; --rank)
        SLOWPATH_STEP(SLOWPATH_MPI(Reduce_local)(vector.at(all, rank), a.receive, a.receive_count,
                                                 a.receive_type, a.op));
    return MPI_SUCCESS;
}

int scan_allgather(const Arguments& a, Workspace& workspace) {
    return gathered(a, workspace, rank_in(a.communicator));
}

int exscan_allgather(const Arguments& a, Workspace& workspace) {
    return gathered(a, workspace, rank_in(a.communicator) - 1);
}

/// Round k: what is reduced so far to the rank 2^k after; what comes from the rank 2^k before goes in front.
int doubling(const Arguments& a, Workspace& workspace, void* result) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    void* const before = room_for(workspace, Scratch::output, a.receive_count, a.receive_type);
    int code = MPI_SUCCESS;
    for (int step = 1; step < size; step *= 2) {
        const bool gets = rank >= step;
        SLOWPATH_STEP(workspace.exchange(
            result, a.receive_count, a.receive_type, rank + step < size ? rank + step : MPI_PROC_NULL, before,
            a.receive_count, a.receive_type, gets ? rank - step : MPI_PROC_NULL));
        // An op that refuses the datatype does so on this rank alone: the others wait for its message all the
        // same.
        if (!gets || code != MPI_SUCCESS) continue;
        code = SLOWPATH_MPI(Reduce_local)(before, result, a.receive_count, a.receive_type, a.op);
    }
    return code;
}

int scan_doubling(const Arguments& a, Workspace& workspace) {
    SLOWPATH_STEP(place_own(a, workspace));
    return doubling(a, workspace, a.receive);
}

/// An inclusive scan, of which each rank gets that of the rank before.
int exscan_doubling(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    void* const inclusive = room_for(workspace, Scratch::input, a.receive_count, a.receive_type);
    SLOWPATH_STEP(copy(workspace, input_of(a), inclusive, a.receive_count, a.receive_type));
    SLOWPATH_STEP(doubling(a, workspace, inclusive));
    const int next = rank + 1 < size_of(a.communicator) ? rank + 1 : MPI_PROC_NULL;
    return workspace.exchange(inclusive, a.receive_count, a.receive_type, next, a.receive, a.receive_count,
                              a.receive_type, rank > 0 ? rank - 1 : MPI_PROC_NULL);
}

int scan_nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Iscan)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                      a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

int exscan_nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Iexscan)(a.send, a.receive, a.receive_count, a.receive_type, a.op,
                                        a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"exscan+reduce_local", Collective::scan, unless_counted, exscan_reduce_local},
    {"allgather+reduce_local", Collective::scan, unless_counted, scan_allgather},
    {"doubling", Collective::scan, unless_counted, scan_doubling, true},
    {"nonblocking", Collective::scan, unless_counted, scan_nonblocking},
    {"allgather+reduce_local", Collective::exscan, unless_counted, exscan_allgather},
    {"doubling", Collective::exscan, unless_counted, exscan_doubling, true},
    {"nonblocking", Collective::exscan, unless_counted, exscan_nonblocking},
};

}  // namespace

std::span<const Mockup> of_scan() {
    return all;
}

}  // namespace slowpath::mockups
