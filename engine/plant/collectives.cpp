// SPDX-License-Identifier: Apache-2.0
// Collectives, each with what the plants add before the library's own. What the ranks of the engine agree on
// between two measurements pays as well, outside of all times.
#include <mpi.h>

#include "plant/charged.hpp"
#include "plant/profiling.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

using namespace slowpath::plant;

namespace {

constexpr int no_root = -1;

int over(int code) {
    ended();
    return code;
}

}  // namespace

SLOWPATH_EXPORT int MPI_Barrier(MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Barrier)>("PMPI_Barrier");
    charge_call(Call::barrier);
    return over(next(among));
}

SLOWPATH_EXPORT int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Bcast)>("PMPI_Bcast");
    charge_collective(Call::bcast, data, data, count, type, root);
    return over(next(data, count, type, root, among));
}

SLOWPATH_EXPORT int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                               int root, MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Reduce)>("PMPI_Reduce");
    charge_collective(Call::reduce, send, receive, count, type, root);
    return over(next(send, receive, count, type, op, root, among));
}

SLOWPATH_EXPORT int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                                  MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Allreduce)>("PMPI_Allreduce");
    charge_collective(Call::allreduce, send, receive, count, type, no_root);
    return over(next(send, receive, count, type, op, among));
}

SLOWPATH_EXPORT int MPI_Allgather(const void* send, int count, MPI_Datatype type, void* receive,
                                  int receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Allgather)>("PMPI_Allgather");
    charge_collective(Call::allgather, send, receive, receive_count, receive_type, no_root);
    return over(next(send, count, type, receive, receive_count, receive_type, among));
}

SLOWPATH_EXPORT int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive,
                                 int receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    static const auto next = profiled<decltype(&MPI_Alltoall)>("PMPI_Alltoall");
    charge_collective(Call::alltoall, send, receive, receive_count, receive_type, no_root);
    return over(next(send, count, type, receive, receive_count, receive_type, among));
}
