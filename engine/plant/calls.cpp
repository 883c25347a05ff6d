// SPDX-License-Identifier: Apache-2.0
// The calls of the engine's messages, each with what the plants add before the library's own.
#include <mpi.h>

#include "plant/charged.hpp"
#include "plant/open_receives.hpp"
#include "plant/profiling.hpp"
#include "plant/spend.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace slowpath::plant;

int over(int code) {
    ended();
    return code;
}

bool is_wild(int from, int tag) {
    return from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
}

Other sender_of(int from, int tag, MPI_Comm among, Moment moment) {
    return {from, is_measured(among), moment, is_wild(from, tag)};
}

int posted(int code, const MPI_Request* request, MPI_Comm among) {
    if (code == MPI_SUCCESS && counts_receives() && is_measured(among)) opened(*request);
    return over(code);
}

}  // namespace

SLOWPATH_EXPORT int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                             MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Send)>("PMPI_Send");
    charge_data(Call::send, data, count, type, {to, is_measured(among)});
    return over(next(data, count, type, to, tag, among));
}

SLOWPATH_EXPORT int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm among,
                              MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Isend)>("PMPI_Isend");
    charge_data(Call::send, data, count, type, {to, is_measured(among)});
    return over(next(data, count, type, to, tag, among, request));
}

SLOWPATH_EXPORT int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm among,
                             MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Recv)>("PMPI_Recv");
    charge_data(Call::receive, data, count, type, sender_of(from, tag, among, Moment::whole));
    return over(next(data, count, type, from, tag, among, status));
}

SLOWPATH_EXPORT int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm among,
                              MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Irecv)>("PMPI_Irecv");
    charge_data(Call::receive, data, count, type, sender_of(from, tag, among, Moment::posting));
    return posted(next(data, count, type, from, tag, among, request), request, among);
}

SLOWPATH_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Wait)>("PMPI_Wait");
    charge_call(Call::wait);
    if (counts_receives()) {
        // A message that arrives is matched while its receiver waits: what stands ahead is paid for here.
        const std::int64_t begin_ns = now_ns();
        if (closed(*request))
            charge({.call = Call::receive, .queue = open_receives(), .moment = Moment::matching}, begin_ns);
    }
    return over(next(request, status));
}

SLOWPATH_EXPORT int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    static const auto next = profiled<decltype(&MPI_Waitall)>("PMPI_Waitall");
    charge_call(Call::waitall);
    if (counts_receives())
        for (int i = 0; i < count; ++i) closed(requests[i]);
    return over(next(count, requests, statuses));
}

SLOWPATH_EXPORT int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Test)>("PMPI_Test");
    charge_call(Call::test);
    const MPI_Request before = *request;
    const int code = next(request, done, status);
    if (code == MPI_SUCCESS && *done != 0 && counts_receives()) closed(before);
    return over(code);
}

SLOWPATH_EXPORT int MPI_Cancel(MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Cancel)>("PMPI_Cancel");
    if (counts_receives()) closed(*request);
    return next(request);
}

#ifdef SLOWPATH_HAVE_MPI_COUNT
SLOWPATH_EXPORT int MPI_Send_c(const void* data, MPI_Count count, MPI_Datatype type, int to, int tag,
                               MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Send_c)>("PMPI_Send_c");
    charge_data(Call::send, data, count, type, {to, is_measured(among)});
    return over(next(data, count, type, to, tag, among));
}

SLOWPATH_EXPORT int MPI_Isend_c(const void* data, MPI_Count count, MPI_Datatype type, int to, int tag,
                                MPI_Comm among, MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Isend_c)>("PMPI_Isend_c");
    charge_data(Call::send, data, count, type, {to, is_measured(among)});
    return over(next(data, count, type, to, tag, among, request));
}

SLOWPATH_EXPORT int MPI_Recv_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag,
                               MPI_Comm among, MPI_Status* status) {
    static const auto next = profiled<decltype(&MPI_Recv_c)>("PMPI_Recv_c");
    charge_data(Call::receive, data, count, type, sender_of(from, tag, among, Moment::whole));
    return over(next(data, count, type, from, tag, among, status));
}

SLOWPATH_EXPORT int MPI_Irecv_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag,
                                MPI_Comm among, MPI_Request* request) {
    static const auto next = profiled<decltype(&MPI_Irecv_c)>("PMPI_Irecv_c");
    charge_data(Call::receive, data, count, type, sender_of(from, tag, among, Moment::posting));
    return posted(next(data, count, type, from, tag, among, request), request, among);
}
#endif
