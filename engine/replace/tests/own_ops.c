// SPDX-License-Identifier: Apache-2.0
/* Reductions by ops of the program's own: two functions x -> a x + b after each other, which does not
 * commute, on elements with gaps between them.  An op may rely on never being given more elements than its
 * call has, and on bytes in gaps staying as they are.  Each call is compared with the library's own.  Prints
 * "wrong: N, too long: N". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most = 300, most_ranks = 8, gap = 3 };

typedef struct {
    unsigned a, b;
    unsigned unused[gap];
} Function;

static int longest; /* of the call that is being made */
static int too_long;
static int wrong;

static void after(void* first, void* second, int* count, MPI_Datatype* type) {
    (void)type;
    const Function* f = first;
    Function* g = second;
    if (*count > longest) ++too_long;
    for (int i = 0; i < *count; ++i) { /* g after f */
        const unsigned a = g[i].a * f[i].a, b = g[i].a * f[i].b + g[i].b;
        g[i].a = a;
        g[i].b = b;
    }
}

static Function given[most * most_ranks], by_mockup[most * most_ranks], by_library[most * most_ranks];

static void fill(int rank) {
    for (int i = 0; i < most * most_ranks; ++i) {
        given[i] = (Function){(unsigned)(rank * 7 + i) | 1, (unsigned)(rank * 31 + i * 5), {9, 8, 7}};
        by_mockup[i] = by_library[i] = (Function){1, 2, {3, 4, 5}};
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Datatype pair, type;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_create_resized(pair, 0, sizeof(Function), &type);
    MPI_Type_commit(&type);
    MPI_Op op;
    MPI_Op_create(after, 0, &op);
    const int counts[] = {1, 2, 3, 7, 64, most};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; ++i)
        for (int root = 0; root < size; ++root) {
            const int count = counts[i];
            const MPI_Comm world = MPI_COMM_WORLD;
#define COMPARED(call, elements)                                                                       \
    fill(rank);                                                                                        \
    longest = elements;                                                                                \
    MPI_##call(given, by_mockup, count, type, op, ROOT world);                                         \
    longest = most * most_ranks;                                                                       \
    PMPI_##call(given, by_library, count, type, op, ROOT world);                                       \
    if (memcmp(by_mockup, by_library, sizeof by_library) != 0) {                                       \
        if (++wrong < 4) printf("rank %d of %d: " #call " of %d, root %d\n", rank, size, count, root); \
    }
#define ROOT root,
            COMPARED(Reduce, count)
#undef ROOT
#define ROOT
            COMPARED(Allreduce, count)
            COMPARED(Reduce_scatter_block, count * size)
            COMPARED(Scan, count)
            if (rank == 0) longest = count;
            fill(rank);
            longest = count;
            MPI_Exscan(given, by_mockup, count, type, op, world);
            PMPI_Exscan(given, by_library, count, type, op, world);
            if (rank != 0 && memcmp(by_mockup, by_library, sizeof by_library) != 0) ++wrong;
        }
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Allreduce(MPI_IN_PLACE, &too_long, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong: %d, too long: %d\n", wrong, too_long);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
