// SPDX-License-Identifier: Apache-2.0
/* A tool of the classic kind, preloaded too: it defines MPI_Allreduce, calls PMPI_Allreduce, and writes how
 * often when MPI_Finalize is called. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int calls = 0;

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    ++calls;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
    FILE* const file = fopen(getenv("TOOL_OUTPUT"), "a");
    fprintf(file, "%d\n", calls);
    fclose(file);
    return PMPI_Finalize();
}
