// SPDX-License-Identifier: Apache-2.0
/* How many communicators a program can have, each with a reduction: those that the library has.  Prints
 * "made: N". Argument: at most so many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int most = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Comm* const all = malloc((size_t)most * sizeof *all);
    int made = 0, wrong = 0, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (; made < most && MPI_Comm_dup(MPI_COMM_WORLD, &all[made]) == MPI_SUCCESS; ++made) {
        int sum = 0;
        const int mine = rank + made;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all[made]);
        if (sum != size * (size - 1) / 2 + size * made) ++wrong;
        MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, all[made]);
        if (sum != (rank + 1) * rank / 2 + (rank + 1) * made) ++wrong;
    }
    for (int i = 0; i < made; ++i) MPI_Comm_free(&all[i]);
    if (rank == 0) printf("made: %d, wrong: %d\n", made, wrong);
    free(all);
    MPI_Finalize();
    return 0;
}
