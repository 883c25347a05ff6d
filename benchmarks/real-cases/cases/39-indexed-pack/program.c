// SPDX-License-Identifier: Apache-2.0
// 100,000 numbers out of a larger array in each message: by an indexed datatype, or packed by a loop.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { blocks = 100 * 1000, stride = 3, iterations = 300 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *values = calloc((size_t)blocks * stride, sizeof *values), *packed = calloc(blocks, sizeof *packed);
    int* places = malloc(blocks * sizeof *places);
    for (int i = 0; i < blocks; i++) places[i] = i * stride + i % 2;
    MPI_Datatype some;
    MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, &some);
    MPI_Type_commit(&some);
    const double begun = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        if (rank == 1) {
            MPI_Recv(packed, blocks, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (argc > 1) {
            for (int block = 0; block < blocks; block++) packed[block] = values[places[block]];
            MPI_Send(packed, blocks, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Send(values, 1, some, 1, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    MPI_Type_free(&some);
    free(places);
    free(packed);
    free(values);
    return MPI_Finalize();
}
