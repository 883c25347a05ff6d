// SPDX-License-Identifier: Apache-2.0
#include "replace/agreement.hpp"

#include <mpi.h>

#include <array>
#include <climits>
#include <cstdio>
#include <ctime>

#include "replace/neighbours.hpp"
#include "replace/original.hpp"

namespace slowpath::replace {

namespace {

constexpr std::time_t patience_s = 20;

template <class Function>
Function profiled_as(const char* name) {
    return reinterpret_cast<Function>(in_library(name));
}
#define SLOWPATH_PROFILED(function) profiled_as<decltype(&P##function)>("P" #function)

// Open MPI's handles are data of its library, which programs without MPI lack: they get this library, too.
#ifdef OMPI_MAJOR_VERSION
#define SLOWPATH_HANDLE(Type, data, constant) static_cast<Type>(data_of_library(data))
#else
#define SLOWPATH_HANDLE(Type, data, constant) constant
#endif

std::time_t now_s() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/// A rank on another node that runs without this library never answers: then a line says what the job waits
/// for.
bool finish(MPI_Request& request, int rank, bool speaks) {
    const auto test = SLOWPATH_PROFILED(MPI_Test);
    const std::time_t end_s = now_s() + patience_s;
    int is_done = 0;
    for (bool has_spoken = false; is_done == 0;) {
        if (test(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (is_done != 0 || has_spoken || now_s() < end_s) continue;
        has_spoken = true;
        if (speaks)
            std::fprintf(
                stderr,
                "slowpath-coll: rank %d has waited %ld s in MPI_Init for ranks on other nodes that run "
                "without libslowpath-coll.so; preload it into every rank of the job, or into none\n",
                rank, static_cast<long>(patience_s));
    }
    return true;
}

}  // namespace

bool agree(const char* problem, bool has_table) {
    const Neighbours here = neighbours();
    if (!has_library_our_interface()) {
        if (here.is_first && has_table && problem != nullptr)
            std::fprintf(stderr, "slowpath-coll: %s; nothing is replaced\n", problem);
        return false;
    }
    if (!here.all_have_library) {
        if (here.is_first)
            std::fprintf(stderr,
                         "slowpath-coll: rank %d runs without libslowpath-coll.so; nothing is replaced\n",
                         here.without);
        return false;
    }
    const MPI_Comm world = SLOWPATH_HANDLE(MPI_Comm, "ompi_mpi_comm_world", MPI_COMM_WORLD);
    int rank = 0;
    SLOWPATH_PROFILED(MPI_Comm_rank)(world, &rank);
    // The lowest rank that can't; -1 where a rank has a table; -1 where rank 0 has.
    const std::array<int, 3> mine{problem == nullptr ? INT_MAX : rank, has_table ? -1 : 0,
                                  has_table && rank == 0 ? -1 : 0};
    std::array<int, 3> least{};
    MPI_Request request{};
    if (SLOWPATH_PROFILED(MPI_Iallreduce)(
            mine.data(), least.data(), 3, SLOWPATH_HANDLE(MPI_Datatype, "ompi_mpi_int", MPI_INT),
            SLOWPATH_HANDLE(MPI_Op, "ompi_mpi_op_min", MPI_MIN), world, &request) != MPI_SUCCESS ||
        !finish(request, rank, here.is_first))
        return false;
    const bool is_asked_for = least[1] == -1;
    if (is_asked_for && least[0] == rank && problem != nullptr)
        std::fprintf(stderr, "slowpath-coll: rank %d: %s; nothing is replaced\n", rank, problem);
    else if (is_asked_for && least[0] == INT_MAX && least[2] == 0 && rank == 0)
        std::fprintf(stderr, "slowpath-coll: SLOWPATH_COLL is not set on rank 0; nothing is replaced\n");
    return least[0] == INT_MAX && least[2] == -1;
}

}  // namespace slowpath::replace
