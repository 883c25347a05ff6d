// SPDX-License-Identifier: Apache-2.0
/// Collectives with counts of MPI_Count (MPI-4.1 section 2.5.8): what a mock-up can do is done by the
/// mock-up, the rest by the library's own function of that name.
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4

namespace slowpath::replace::large {

int bcast(void*, MPI_Count, MPI_Datatype, int root, MPI_Comm);
int gather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int root, MPI_Comm);
int scatter(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int root, MPI_Comm);
int allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int reduce(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int root, MPI_Comm);
int allreduce(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int reduce_scatter_block(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int scan(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int exscan(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);

}  // namespace slowpath::replace::large

#endif
