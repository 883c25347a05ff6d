// SPDX-License-Identifier: Apache-2.0
// Which memory MPI_Alloc_mem gave, for clauses that ask for it.
#include <mpi.h>

#include "plant/allocations.hpp"
#include "plant/plant.hpp"
#include "plant/profiling.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

using namespace slowpath::plant;

SLOWPATH_EXPORT int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base) {
    static const auto next = profiled<decltype(&MPI_Alloc_mem)>("PMPI_Alloc_mem");
    const int code = next(bytes, info, base);
    if (code == MPI_SUCCESS && plants().looks_at(Quantity::alloc_mem))
        note_alloc_mem(*static_cast<void**>(base), static_cast<std::size_t>(bytes));
    return code;
}

SLOWPATH_EXPORT int MPI_Free_mem(void* base) {
    static const auto next = profiled<decltype(&MPI_Free_mem)>("PMPI_Free_mem");
    if (plants().looks_at(Quantity::alloc_mem)) forget_alloc_mem(base);
    return next(base);
}
