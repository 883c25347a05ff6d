// SPDX-License-Identifier: Apache-2.0
/// What libslowpath-coll.so asks of libslowpath-coll-parts.so. The first is preloaded into every program of a
/// job and knows no MPI; the second is linked with one, and opened when a program has called MPI_Init.
#pragma once

#include <mpi.h>

#include <atomic>

namespace slowpath::replace {

/// The counts of one predefined datatype that some row may be about, as bytes from its first to its last one.
/// Never freed; a call with another count is the library's, and nobody else has to look at it.
struct Window {
    MPI_Datatype type;
    unsigned int first;
    unsigned int span;  ///< the last one is first + span

    /// @param count Not negative.
    bool holds(MPI_Count count) const { return static_cast<unsigned long long>(count) - first <= span; }
};

/// Of the datatype that a collective was last called with; null: none is known.
using LastWindow = std::atomic<const Window*>;

struct Parts {
    /// The MPI library that the parts are bound to, by a function of it: it must be the program's own.
    const void* profiled_init;
    /// Collective over MPI_COMM_WORLD: rank 0 reads the table, which is a path, or its text from its first {
    /// on; all ranks get it.
    /// @param table Rank 0's counts; null elsewhere or not.
    /// @return False: nothing is replaced; rank 0 has said why.
    bool (*begin)(const char* table, const char* report_path);
    /// What stands in for "MPI_Bcast", of the same type; nullptr: no row is about it.
    /// @param last Is kept up to date by calls that are the library's own; null: of no use there.
    void* (*replacement)(const char* name, LastWindow* last);
    /// Collective over MPI_COMM_WORLD, before MPI_Finalize: rank 0 writes how often each row was used.
    void (*report)();
    /// Rank 0 writes a line on standard error.
    void (*say)(const char* line);
};

}  // namespace slowpath::replace

extern "C" __attribute__((visibility("default"))) const slowpath::replace::Parts* slowpath_coll_parts();
