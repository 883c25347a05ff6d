// SPDX-License-Identifier: Apache-2.0
/// What libslowpath-coll.so asks of libslowpath-coll-parts.so. The first is preloaded into every program of a
/// job and knows no MPI; the second is linked with one, and opened when a program has called MPI_Init.
#pragma once

#include <mpi.h>

namespace slowpath::replace {

struct Parts {
    /// The MPI library that the parts are bound to, by a function of it: it must be the program's own.
    const void* profiled_init;
    /// Collective over MPI_COMM_WORLD: rank 0 reads the table, all ranks get it.
    /// @return False: nothing is replaced; rank 0 has said why.
    bool (*begin)(const char* table_path, const char* report_path);
    /// What stands in for "MPI_Bcast", of the same type; nullptr: no row is about it.
    void* (*replacement)(const char* name);
    /// Collective over MPI_COMM_WORLD, before MPI_Finalize: rank 0 writes how often each row was used.
    void (*report)();
};

}  // namespace slowpath::replace

extern "C" __attribute__((visibility("default"))) const slowpath::replace::Parts* slowpath_coll_parts();
