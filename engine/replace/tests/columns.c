// SPDX-License-Identifier: Apache-2.0
// Columns of a matrix: elements that lie among each other. The columns of all ranks together don't fit beside
// each other into one matrix. Each call is compared with the library's own.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 4, width = 256, columns = 200, ranks = 3 };
typedef unsigned Matrix[rows * width];

static unsigned* at(void* matrix, int column, int row) {
    return (unsigned*)matrix + row * width + column;
}

// 2x2 matrices modulo 2^32: the order counts.
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) {
        unsigned x[4], y[4];
        for (int k = 0; k < 4; ++k) x[k] = *at(in, i, k), y[k] = *at(inout, i, k);
        for (int k = 0; k < 4; ++k) *at(inout, i, k) = x[k & 2] * y[k & 1] + x[(k & 2) + 1] * y[2 + (k & 1)];
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Datatype vector, column;
    MPI_Type_vector(rows, 1, width, MPI_UNSIGNED, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(unsigned), &column);
    MPI_Type_commit(&column);
    MPI_Op op;
    MPI_Op_create(multiply, 0, &op);
    static Matrix mine, got[2];
    static unsigned all[2][ranks * rows * columns], given[ranks * rows * columns];
    for (int i = 0; i < rows * width; ++i) mine[i] = 2654435761u * (unsigned)(i + 1 + rank * rows * width);
    for (int i = 0; i < ranks * rows * columns; ++i) given[i] = 40503u * (unsigned)(i + 1);
    int wrong = 0;
#define SAME(what) wrong += memcmp(what[0], what[1], sizeof what[0]) != 0
    MPI_Allreduce(mine, got[0], columns, column, op, MPI_COMM_WORLD);
    PMPI_Allreduce(mine, got[1], columns, column, op, MPI_COMM_WORLD);
    SAME(got);
    MPI_Scan(mine, got[0], columns, column, op, MPI_COMM_WORLD);
    PMPI_Scan(mine, got[1], columns, column, op, MPI_COMM_WORLD);
    SAME(got);
    MPI_Exscan(mine, got[0], columns, column, op, MPI_COMM_WORLD);
    PMPI_Exscan(mine, got[1], columns, column, op, MPI_COMM_WORLD);
    SAME(got);
    MPI_Scatter(given, rows * columns, MPI_UNSIGNED, got[0], columns, column, 1, MPI_COMM_WORLD);
    PMPI_Scatter(given, rows * columns, MPI_UNSIGNED, got[1], columns, column, 1, MPI_COMM_WORLD);
    SAME(got);
    MPI_Gather(mine, columns, column, all[0], rows * columns, MPI_UNSIGNED, 1, MPI_COMM_WORLD);
    PMPI_Gather(mine, columns, column, all[1], rows * columns, MPI_UNSIGNED, 1, MPI_COMM_WORLD);
    SAME(all);
    MPI_Allgather(mine, columns, column, all[0], rows * columns, MPI_UNSIGNED, MPI_COMM_WORLD);
    PMPI_Allgather(mine, columns, column, all[1], rows * columns, MPI_UNSIGNED, MPI_COMM_WORLD);
    SAME(all);
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong: %d\n", wrong);
    MPI_Op_free(&op);
    MPI_Type_free(&column);
    MPI_Type_free(&vector);
    MPI_Finalize();
    return 0;
}
