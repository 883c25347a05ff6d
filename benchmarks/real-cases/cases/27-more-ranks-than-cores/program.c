// SPDX-License-Identifier: Apache-2.0
// A fixed amount of work, divided among the ranks, with a halo exchange and a reduction after each step.
#include <mpi.h>
#include <stdio.h>

enum { steps = 300, work = 8 * 1000 * 1000 / 40, halo = 512 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    static double out[halo], in[halo];
    volatile double sum = 1;
    const double begun = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < work / size; i++) sum = sum * 0.999999 + 1;
        MPI_Sendrecv(out, halo, MPI_DOUBLE, right, 0, in, halo, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double all, mine = sum;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        out[0] = all;
    }
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    return MPI_Finalize();
}
