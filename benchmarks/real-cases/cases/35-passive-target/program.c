// SPDX-License-Identifier: Apache-2.0
// Rank 0 accumulates into memory of rank 1, which computes; where asked, rank 1 calls MPI in between.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { updates = 100, count = 4096 };

static const double slice_s = 0.005;

static void compute(double seconds) {
    volatile double value = 1;
    for (const double until = MPI_Wtime() + seconds; MPI_Wtime() < until;)
        for (int i = 0; i < 100; i++) value = value * 0.999999 + 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double* memory = calloc(count, sizeof *memory);
    MPI_Win win;
    MPI_Win_create(memory, count * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    if (rank == 0) {
        double* mine = calloc(count, sizeof *mine);
        for (int i = 0; i < updates; i++) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            MPI_Accumulate(mine, count, MPI_DOUBLE, 1, 0, count, MPI_DOUBLE, MPI_SUM, win);
            MPI_Win_unlock(1, win);
        }
        free(mine);
        printf("%.6f s\n", MPI_Wtime() - begun);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        int is_done = 0;
        while (!is_done) {
            for (int part = 0; part < 100; part++) {
                compute(slice_s / 100);
                int any;
                if (argc > 1) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
            }
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &is_done, MPI_STATUS_IGNORE);
        }
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_free(&win);
    free(memory);
    return MPI_Finalize();
}
