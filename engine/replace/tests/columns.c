// SPDX-License-Identifier: Apache-2.0
// Columns of a matrix: elements that lie among each other. The columns of all ranks together don't fit beside
// each other into one matrix. Each call is compared with the library's own; prints those that differ.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { rows = 4, widest = 256, most_columns = 200, ranks = 3 };
typedef unsigned Matrix[rows * widest];

static int width;

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

static int rank, wrong;

static void compare(const char* name, const void* got, const void* expected, size_t bytes) {
    const int differs = memcmp(got, expected, bytes) != 0;
    if (differs) printf("rank %d: %s of a matrix with %d columns differs\n", rank, name, width);
    wrong += differs;
}

static void call_all(int columns, MPI_Op op) {
    MPI_Datatype vector, column;
    MPI_Type_vector(rows, 1, width, MPI_UNSIGNED, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(unsigned), &column);
    MPI_Type_commit(&column);
    static Matrix mine, got[2];
    static unsigned all[2][ranks * rows * most_columns], given[ranks * rows * most_columns];
    for (int i = 0; i < rows * width; ++i) mine[i] = 2654435761u * (unsigned)(i + 1 + rank * rows * width);
    for (int i = 0; i < ranks * rows * columns; ++i) given[i] = 40503u * (unsigned)(i + 1);
    const int numbers = rows * columns;
#define BOTH(name, result, arguments_0, arguments_1) \
    MPI_##name arguments_0;                          \
    PMPI_##name arguments_1;                         \
    compare(#name, result[0], result[1], sizeof result[0])
#define REDUCED(name)                                                    \
    BOTH(name, got, (mine, got[0], columns, column, op, MPI_COMM_WORLD), \
         (mine, got[1], columns, column, op, MPI_COMM_WORLD))
    REDUCED(Allreduce);
    REDUCED(Scan);
    REDUCED(Exscan);
    BOTH(Scatter, got, (given, numbers, MPI_UNSIGNED, got[0], columns, column, 1, MPI_COMM_WORLD),
         (given, numbers, MPI_UNSIGNED, got[1], columns, column, 1, MPI_COMM_WORLD));
    BOTH(Gather, all, (mine, columns, column, all[0], numbers, MPI_UNSIGNED, 1, MPI_COMM_WORLD),
         (mine, columns, column, all[1], numbers, MPI_UNSIGNED, 1, MPI_COMM_WORLD));
    BOTH(Allgather, all, (mine, columns, column, all[0], numbers, MPI_UNSIGNED, MPI_COMM_WORLD),
         (mine, columns, column, all[1], numbers, MPI_UNSIGNED, MPI_COMM_WORLD));
    MPI_Type_free(&column);
    MPI_Type_free(&vector);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op op;
    MPI_Op_create(multiply, 0, &op);
    width = widest;
    call_all(most_columns, op);
    width = 2;
    call_all(1, op);
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong: %d\n", wrong);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
