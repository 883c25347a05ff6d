// SPDX-License-Identifier: Apache-2.0
// Two ranks compute and exchange; where asked, a helper thread of each spins meanwhile.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { steps = 400, work = 300 * 1000, halo = 512 };

static atomic_int is_over;

static void* spin(void* nothing) {
    while (!atomic_load(&is_over)) {}
    return nothing;
}

int main(int argc, char** argv) {
    int given, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t helper;
    if (argc > 1) pthread_create(&helper, NULL, spin, NULL);
    static double out[halo], in[halo];
    volatile double sum = 1;
    const double begun = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < work; i++) sum = sum * 0.999999 + 1;
        MPI_Sendrecv(out, halo, MPI_DOUBLE, 1 - rank, 0, in, halo, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    atomic_store(&is_over, 1);
    if (argc > 1) pthread_join(helper, NULL);
    return MPI_Finalize();
}
