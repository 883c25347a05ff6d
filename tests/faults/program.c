/* SPDX-License-Identifier: Apache-2.0 */
/* Some collectives and a wait: what is watched. */
#include <mpi.h>
#include <unistd.h>

int main(int count, char** words) {
    int value = 0;
    MPI_Init(&count, &words);
    usleep(300000);
    for (int i = 0; i < 100; i++) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
