// SPDX-License-Identifier: Apache-2.0
// Puts and gets of the engine's windows, each with what the plants add before the library's own.
#include <mpi.h>

#include "plant/charged.hpp"
#include "plant/profiling.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

using namespace slowpath::plant;

SLOWPATH_EXPORT int MPI_Put(const void* data, int count, MPI_Datatype type, int target, MPI_Aint at,
                            int target_count, MPI_Datatype target_type, MPI_Win window) {
    static const auto next = profiled<decltype(&MPI_Put)>("PMPI_Put");
    charge_data(Call::put, data, count, type, {target});
    const int code = next(data, count, type, target, at, target_count, target_type, window);
    ended();
    return code;
}

SLOWPATH_EXPORT int MPI_Get(void* data, int count, MPI_Datatype type, int target, MPI_Aint at,
                            int target_count, MPI_Datatype target_type, MPI_Win window) {
    static const auto next = profiled<decltype(&MPI_Get)>("PMPI_Get");
    charge_data(Call::get, data, count, type, {target});
    const int code = next(data, count, type, target, at, target_count, target_type, window);
    ended();
    return code;
}
