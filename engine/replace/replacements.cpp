// SPDX-License-Identifier: Apache-2.0
#include "replace/replacements.hpp"

#include "replace/large.hpp"

namespace slowpath::replace {

namespace {

using mockups::Arguments;
using mockups::Collective;

int call(const Arguments& a) {
    return choices().call(a, [&] { return mockups::call_library(a); });
}

int barrier(MPI_Comm among) {
    return call({.collective = Collective::barrier, .communicator = among});
}

int bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm among) {
    return call({.collective = Collective::bcast,
                 .receive = data,
                 .receive_count = count,
                 .receive_type = type,
                 .root = root,
                 .communicator = among});
}

int blocks(Collective of, const void* send, int send_count, MPI_Datatype send_type, void* receive,
           int receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return call({.collective = of,
                 .send = send,
                 .send_count = send_count,
                 .send_type = send_type,
                 .receive = receive,
                 .receive_count = receive_count,
                 .receive_type = receive_type,
                 .root = root,
                 .communicator = among});
}

template <Collective of>
int to_or_from_root(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                    int receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return blocks(of, send, send_count, send_type, receive, receive_count, receive_type, root, among);
}

template <Collective of>
int to_all(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
           MPI_Datatype receive_type, MPI_Comm among) {
    return blocks(of, send, send_count, send_type, receive, receive_count, receive_type, 0, among);
}

int reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm among) {
    return call({.collective = Collective::reduce,
                 .send = send,
                 .receive = receive,
                 .receive_count = count,
                 .receive_type = type,
                 .op = op,
                 .root = root,
                 .communicator = among});
}

template <Collective of>
int reduction(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm among) {
    return call({.collective = of,
                 .send = send,
                 .receive = receive,
                 .receive_count = count,
                 .receive_type = type,
                 .op = op,
                 .communicator = among});
}

int reduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm among) {
    return call({.collective = Collective::reduce_scatter,
                 .send = send,
                 .receive = receive,
                 .receive_counts = counts,
                 .receive_type = type,
                 .op = op,
                 .communicator = among});
}

struct Replacement {
    std::string_view name;
    Collective of;
    void* function;
};

/// @tparam like The function of MPI, whose type the replacement must have.
template <auto like>
void* typed(decltype(like) function) {
    return reinterpret_cast<void*>(function);
}

const Replacement all[] = {
    {"MPI_Barrier", Collective::barrier, typed<&PMPI_Barrier>(barrier)},
    {"MPI_Bcast", Collective::bcast, typed<&PMPI_Bcast>(bcast)},
    {"MPI_Gather", Collective::gather, typed<&PMPI_Gather>(to_or_from_root<Collective::gather>)},
    {"MPI_Scatter", Collective::scatter, typed<&PMPI_Scatter>(to_or_from_root<Collective::scatter>)},
    {"MPI_Allgather", Collective::allgather, typed<&PMPI_Allgather>(to_all<Collective::allgather>)},
    {"MPI_Alltoall", Collective::alltoall, typed<&PMPI_Alltoall>(to_all<Collective::alltoall>)},
    {"MPI_Reduce", Collective::reduce, typed<&PMPI_Reduce>(reduce)},
    {"MPI_Allreduce", Collective::allreduce, typed<&PMPI_Allreduce>(reduction<Collective::allreduce>)},
    {"MPI_Reduce_scatter", Collective::reduce_scatter, typed<&PMPI_Reduce_scatter>(reduce_scatter)},
    {"MPI_Reduce_scatter_block", Collective::reduce_scatter_block,
     typed<&PMPI_Reduce_scatter_block>(reduction<Collective::reduce_scatter_block>)},
    {"MPI_Scan", Collective::scan, typed<&PMPI_Scan>(reduction<Collective::scan>)},
    {"MPI_Exscan", Collective::exscan, typed<&PMPI_Exscan>(reduction<Collective::exscan>)},
#if MPI_VERSION >= 4
    {"MPI_Bcast_c", Collective::bcast, typed<&PMPI_Bcast_c>(large::bcast)},
    {"MPI_Gather_c", Collective::gather, typed<&PMPI_Gather_c>(large::gather)},
    {"MPI_Scatter_c", Collective::scatter, typed<&PMPI_Scatter_c>(large::scatter)},
    {"MPI_Allgather_c", Collective::allgather, typed<&PMPI_Allgather_c>(large::allgather)},
    {"MPI_Alltoall_c", Collective::alltoall, typed<&PMPI_Alltoall_c>(large::alltoall)},
    {"MPI_Reduce_c", Collective::reduce, typed<&PMPI_Reduce_c>(large::reduce)},
    {"MPI_Allreduce_c", Collective::allreduce, typed<&PMPI_Allreduce_c>(large::allreduce)},
    {"MPI_Reduce_scatter_block_c", Collective::reduce_scatter_block,
     typed<&PMPI_Reduce_scatter_block_c>(large::reduce_scatter_block)},
    {"MPI_Scan_c", Collective::scan, typed<&PMPI_Scan_c>(large::scan)},
    {"MPI_Exscan_c", Collective::exscan, typed<&PMPI_Exscan_c>(large::exscan)},
#endif
};

}  // namespace

Choices& choices() {
    static Choices made;
    return made;
}

void* replacement(std::string_view name, LastWindow* last) {
    for (const Replacement& one : all) {
        if (one.name != name || !choices().has(one.of)) continue;
        if (last != nullptr) choices().keep_window_at(one.of, last);
        return one.function;
    }
    return nullptr;
}

}  // namespace slowpath::replace
