// SPDX-License-Identifier: Apache-2.0
// The calls of the engine's messages, each with the delay that the law adds before the library's own.
#include <mpi.h>

#include "plant/blocks.hpp"
#include "plant/open_receives.hpp"
#include "plant/plant.hpp"
#include "plant/profiling.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace slowpath::plant;

bool is_planted() {
    return law().kind != Kind::none;
}

int rank_in(MPI_Comm among) {
    static const auto rank_of = profiled<decltype(&MPI_Comm_rank)>("PMPI_Comm_rank");
    int rank = -1;
    rank_of(among, &rank);
    return rank;
}

void delay(Call call, const void* address, std::int64_t count, MPI_Datatype type, MPI_Comm among) {
    if (!is_planted()) return;
    const std::int64_t begin_ns = now_ns();
    static const auto size_of = profiled<decltype(&MPI_Type_size)>("PMPI_Type_size");
    int size = 0;
    if (size_of(type, &size) != MPI_SUCCESS || size <= 0 || count <= 0) return;
    const std::uint64_t elements = static_cast<std::uint64_t>(count);
    const std::uint64_t pieces = law().kind == Kind::blocks ? blocks_of(type) : 1;
    const std::uint64_t ahead = open_receives();
    spin(begin_ns, delay_s({call, address, elements * static_cast<std::uint64_t>(size), pieces * elements,
                            ahead, rank_in(among)}));
}

}  // namespace

SLOWPATH_EXPORT int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                             MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Send)>("PMPI_Send");
    delay(Call::send, data, count, type, among);
    return next(data, count, type, to, tag, among);
}

SLOWPATH_EXPORT int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm among,
                              MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Isend)>("PMPI_Isend");
    delay(Call::send, data, count, type, among);
    return next(data, count, type, to, tag, among, request);
}

SLOWPATH_EXPORT int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm among,
                             MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Recv)>("PMPI_Recv");
    delay(Call::receive, data, count, type, among);
    return next(data, count, type, from, tag, among, status);
}

SLOWPATH_EXPORT int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm among,
                              MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Irecv)>("PMPI_Irecv");
    if (law().kind != Kind::queue) delay(Call::receive, data, count, type, among);
    const int code = next(data, count, type, from, tag, among, request);
    if (code == MPI_SUCCESS && law().kind == Kind::queue) opened(*request);
    return code;
}

SLOWPATH_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Wait)>("PMPI_Wait");
    if (law().kind == Kind::queue) {
        // A message that arrives is matched while its receiver waits: what stands ahead is paid for here.
        const std::int64_t begin_ns = now_ns();
        if (closed(*request)) spin(begin_ns, law().cost_s * static_cast<double>(open_receives()));
    }
    return next(request, status);
}

SLOWPATH_EXPORT int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    static const auto next = profiled<decltype(&MPI_Waitall)>("PMPI_Waitall");
    if (law().kind == Kind::queue)
        for (int i = 0; i < count; ++i) closed(requests[i]);
    return next(count, requests, statuses);
}

SLOWPATH_EXPORT int MPI_Cancel(MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Cancel)>("PMPI_Cancel");
    if (law().kind == Kind::queue) closed(*request);
    return next(request);
}

#ifdef SLOWPATH_HAVE_MPI_COUNT
SLOWPATH_EXPORT int MPI_Send_c(const void* data, MPI_Count count, MPI_Datatype type, int to, int tag,
                               MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Send_c)>("PMPI_Send_c");
    delay(Call::send, data, count, type, among);
    return next(data, count, type, to, tag, among);
}

SLOWPATH_EXPORT int MPI_Recv_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag,
                               MPI_Comm among, MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Recv_c)>("PMPI_Recv_c");
    delay(Call::receive, data, count, type, among);
    return next(data, count, type, from, tag, among, status);
}
#endif
