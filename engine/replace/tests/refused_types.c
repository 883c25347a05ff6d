// SPDX-License-Identifier: Apache-2.0
// The library refuses to make a datatype while a mock-up runs: an error of the call's own communicator, as
// any other.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 4, ranks = 2 };

static int refuses, handled;

// In place of the library's.
int PMPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made) {
    int (*const library)(int, MPI_Datatype, MPI_Datatype*) =
        (int (*)(int, MPI_Datatype, MPI_Datatype*))dlsym(RTLD_NEXT, "PMPI_Type_contiguous");
    return library(refuses ? -1 : count, type, made);
}

static void handle(MPI_Comm* communicator, int* code, ...) {
    (void)communicator;
    (void)code;
    handled++;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, class = MPI_SUCCESS, column_of[ranks * rows], mine[2 * rows];
    MPI_Comm communicator;
    MPI_Errhandler handler, of_world;
    MPI_Datatype vector, column;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(communicator, handler);
    MPI_Type_vector(rows, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 2 * rows; ++i) mine[i] = 100 * rank + i / 2;
    for (refuses = 1; refuses >= 0; --refuses) {
        memset(column_of, 0, sizeof column_of);
        const int code = MPI_Allgather(mine, 1, column, column_of, rows, MPI_INT, communicator);
        MPI_Error_class(code, &class);
        int right = 1;
        for (int i = 0; i < ranks * rows; ++i) right &= column_of[i] == 100 * (i / rows) + i % rows;
        if (rank == 0)
            printf("%s, handled: %d, right: %d\n", class == MPI_SUCCESS ? "ok" : "error", handled, right);
    }
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_world);
    if (rank == 0) printf("the world's is as before: %d\n", of_world == MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
    return 0;
}
