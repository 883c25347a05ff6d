// SPDX-License-Identifier: Apache-2.0
#include "replace/large.hpp"

#if MPI_VERSION >= 4

#include <limits>

#include "replace/replacements.hpp"

namespace slowpath::replace::large {

namespace {

using mockups::Arguments;
using mockups::Collective;

/// A count that no int holds is none that a row is about: blocks of 1 GiB and more are the library's, and
/// each rank of a call has the same bytes. So no rank takes a mock-up that another one does not.
int narrow(MPI_Count count) {
    return count < 0 || count > std::numeric_limits<int>::max() ? -1 : static_cast<int>(count);
}

/// @param own The library's function, with the counts as the program gave them.
template <class Own>
int call(const Arguments& a, const Own& own) {
    return choices().call(a, own);
}

Arguments blocks(Collective of, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
                 MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return {.collective = of,
            .send = send,
            .send_count = narrow(send_count),
            .send_type = send_type,
            .receive = receive,
            .receive_count = narrow(receive_count),
            .receive_type = receive_type,
            .root = root,
            .communicator = among};
}

Arguments reduction(Collective of, const void* send, void* receive, MPI_Count count, MPI_Datatype type,
                    MPI_Op op, int root, MPI_Comm among) {
    return {.collective = of,
            .send = send,
            .receive = receive,
            .receive_count = narrow(count),
            .receive_type = type,
            .op = op,
            .root = root,
            .communicator = among};
}

}  // namespace

int bcast(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm among) {
    return call({.collective = Collective::bcast,
                 .receive = data,
                 .receive_count = narrow(count),
                 .receive_type = type,
                 .root = root,
                 .communicator = among},
                [&] { return PMPI_Bcast_c(data, count, type, root, among); });
}

int gather(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
           MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return call(blocks(Collective::gather, send, send_count, send_type, receive, receive_count, receive_type,
                       root, among),
                [&] {
                    return PMPI_Gather_c(send, send_count, send_type, receive, receive_count, receive_type,
                                         root, among);
                });
}

int scatter(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
            MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return call(blocks(Collective::scatter, send, send_count, send_type, receive, receive_count, receive_type,
                       root, among),
                [&] {
                    return PMPI_Scatter_c(send, send_count, send_type, receive, receive_count, receive_type,
                                          root, among);
                });
}

int allgather(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
              MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    return call(blocks(Collective::allgather, send, send_count, send_type, receive, receive_count,
                       receive_type, 0, among),
                [&] {
                    return PMPI_Allgather_c(send, send_count, send_type, receive, receive_count, receive_type,
                                            among);
                });
}

int alltoall(const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
             MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    return call(blocks(Collective::alltoall, send, send_count, send_type, receive, receive_count,
                       receive_type, 0, among),
                [&] {
                    return PMPI_Alltoall_c(send, send_count, send_type, receive, receive_count, receive_type,
                                           among);
                });
}

int reduce(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm among) {
    return call(reduction(Collective::reduce, send, receive, count, type, op, root, among),
                [&] { return PMPI_Reduce_c(send, receive, count, type, op, root, among); });
}

int allreduce(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm among) {
    return call(reduction(Collective::allreduce, send, receive, count, type, op, 0, among),
                [&] { return PMPI_Allreduce_c(send, receive, count, type, op, among); });
}

int reduce_scatter_block(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm among) {
    return call(reduction(Collective::reduce_scatter_block, send, receive, count, type, op, 0, among),
                [&] { return PMPI_Reduce_scatter_block_c(send, receive, count, type, op, among); });
}

int scan(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm among) {
    return call(reduction(Collective::scan, send, receive, count, type, op, 0, among),
                [&] { return PMPI_Scan_c(send, receive, count, type, op, among); });
}

int exscan(const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm among) {
    return call(reduction(Collective::exscan, send, receive, count, type, op, 0, among),
                [&] { return PMPI_Exscan_c(send, receive, count, type, op, among); });
}

}  // namespace slowpath::replace::large

#endif
