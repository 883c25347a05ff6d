/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: each call by which a rank may contact another is a line of the file FIRST_CALLS.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void called(const char* name) {
    char path[4096];
    const char* file = getenv("FIRST_CALLS");
    int rank = 0;
    if (file == NULL) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", file, rank);
    FILE* out = fopen(path, "a");
    if (out == NULL) return;
    fprintf(out, "%s\n", name);
    fclose(out);
}

#define SHOWN(name, parameters, arguments) \
    int MPI_##name parameters {            \
        called(#name);                     \
        return PMPI_##name arguments;      \
    }

SHOWN(Send, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
      (data, count, type, to, tag, comm))
SHOWN(Recv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
      (data, count, type, from, tag, comm, status))
SHOWN(Isend, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
      (data, count, type, to, tag, comm, request))
SHOWN(Barrier, (MPI_Comm comm), (comm))
SHOWN(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
SHOWN(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (in, out, count, type, op, comm))
SHOWN(Allgather,
      (const void* in, int sent, MPI_Datatype in_type, void* out, int received, MPI_Datatype out_type, MPI_Comm comm),
      (in, sent, in_type, out, received, out_type, comm))
SHOWN(Gather,
      (const void* in, int sent, MPI_Datatype in_type, void* out, int received, MPI_Datatype out_type, int root,
       MPI_Comm comm),
      (in, sent, in_type, out, received, out_type, root, comm))
SHOWN(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
SHOWN(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
SHOWN(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
      (comm, type, key, info, made))
