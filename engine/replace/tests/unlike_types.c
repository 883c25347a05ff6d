// SPDX-License-Identifier: Apache-2.0
// Ranks of one call with datatypes of their own, of one signature: 16 numbers as 4 elements here, as 16
// there.
#include <mpi.h>
#include <stdio.h>

enum { ranks = 3, numbers = 16, of_an_element = 4 };

static int rank, wrong;

static void gather_all(int sent_in_elements, int received_in_elements, MPI_Datatype element) {
    int mine[numbers], all[ranks * numbers] = {0};
    for (int i = 0; i < numbers; ++i) mine[i] = 100 * rank + i;
    MPI_Allgather(mine, sent_in_elements ? numbers / of_an_element : numbers,
                  sent_in_elements ? element : MPI_INT, all,
                  received_in_elements ? numbers / of_an_element : numbers,
                  received_in_elements ? element : MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks * numbers; ++i) wrong += all[i] != 100 * (i / numbers) + i % numbers;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Datatype element;
    MPI_Type_contiguous(of_an_element, MPI_INT, &element);
    MPI_Type_commit(&element);
    for (int which = 0; which < ranks; ++which) {
        gather_all(rank == which, 0, element);
        gather_all(0, rank == which, element);
        gather_all(rank == which, rank == which, element);
    }
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong: %d\n", wrong);
    MPI_Type_free(&element);
    MPI_Finalize();
    return 0;
}
