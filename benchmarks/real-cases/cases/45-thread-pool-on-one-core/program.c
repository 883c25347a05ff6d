// SPDX-License-Identifier: Apache-2.0
// A rank and a second thread that lives as long as it divide each step.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { steps = 200, adds = 2 * 1000 * 1000 };

static pthread_barrier_t step_begins, step_ends;

static void work(void) {
    volatile double sum = 1;
    for (int i = 0; i < adds; i++) sum = sum * 0.999999 + 1;
}

static void* helper(void* nothing) {
    for (int step = 0; step < steps; step++) {
        pthread_barrier_wait(&step_begins);
        work();
        pthread_barrier_wait(&step_ends);
    }
    return nothing;
}

int main(int argc, char** argv) {
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    pthread_barrier_init(&step_begins, NULL, 2);
    pthread_barrier_init(&step_ends, NULL, 2);
    pthread_t other;
    pthread_create(&other, NULL, helper, NULL);
    const double begun = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        pthread_barrier_wait(&step_begins);
        work();
        pthread_barrier_wait(&step_ends);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("%.6f s\n", MPI_Wtime() - begun);
    MPI_Finalize();
    pthread_join(other, NULL);
    return 0;
}
