// SPDX-License-Identifier: Apache-2.0
// Objects that each do a little with a communicator of their own, or with one that all share.
#include <mpi.h>
#include <stdio.h>

enum { objects = 30 * 1000, work = 5 * 1000 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm shared;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    volatile double sum = 1;
    const double begun = MPI_Wtime();
    for (int object = 0; object < objects; object++) {
        MPI_Comm own = shared;
        if (argc == 1) MPI_Comm_dup(MPI_COMM_WORLD, &own);
        for (int i = 0; i < work; i++) sum = sum * 0.999999 + 1;
        double part = sum;
        MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_DOUBLE, MPI_SUM, own);
        if (argc == 1) MPI_Comm_free(&own);
    }
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    MPI_Comm_free(&shared);
    return MPI_Finalize();
}
