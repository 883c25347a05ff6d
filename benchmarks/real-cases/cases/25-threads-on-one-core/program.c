// SPDX-License-Identifier: Apache-2.0
// A rank whose work is divided among two threads.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { steps = 100, parts = 2, adds = 20 * 1000 * 1000 / steps };

static double sums[parts][8];

static void* work(void* sum) {
    volatile double* mine = sum;
    for (int i = 0; i < adds; i++) *mine = *mine * 0.999999 + 1;
    return NULL;
}

int main(int argc, char** argv) {
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    const double begun = MPI_Wtime();
    for (int step = 0; step < steps * 25; step++) {
        pthread_t other;
        pthread_create(&other, NULL, work, sums[1]);
        work(sums[0]);
        pthread_join(other, NULL);
        MPI_Allreduce(MPI_IN_PLACE, &sums[0][1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    printf("%.6f s\n", MPI_Wtime() - begun);
    return MPI_Finalize();
}
