// SPDX-License-Identifier: Apache-2.0
// A program run with libslowpath-coll.so and rows of 64 to 128 bytes (tests/engine/test_coll_replaced.py):
// calls at the edges of the rows, in several datatypes, with counts of MPI_Count and from Fortran, each held
// to the profiling name. It prints how many calls of each rank the rows are about.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most = 64 };

static int wrong = 0, rank = 0, size = 1;
static int bcasts = 0;

// Of the MPI's Fortran layer, where the program is linked with one.
#pragma weak mpi_bcast_
void mpi_bcast_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);

static void expect(int condition, const char* what) {
    if (condition) return;
    ++wrong;
    printf("rank %d: %s\n", rank, what);
}

static void fill(unsigned char* data, int seed) {
    for (int i = 0; i < 8 * most; ++i) data[i] = (unsigned char)(37 * i + 11 * seed);
}

static void bcast(int count, MPI_Datatype type, int bytes, const char* what) {
    unsigned char got[8 * most], expected[8 * most];
    fill(got, rank);
    fill(expected, rank);
    expect(MPI_Bcast(got, count, type, 0, MPI_COMM_WORLD) == MPI_SUCCESS, what);
    PMPI_Bcast(expected, count, type, 0, MPI_COMM_WORLD);
    expect(memcmp(got, expected, sizeof got) == 0, what);
    bcasts += bytes >= 64 && bytes <= 128;
}

// What is outside of the rows goes by another way than what is inside, and the ways change with the datatype.
static void edges(void) {
    MPI_Datatype sixteen;
    MPI_Type_contiguous(16, MPI_INT, &sixteen);
    MPI_Type_commit(&sixteen);
    for (int again = 0; again < 3; ++again) {
        bcast(15, MPI_INT, 60, "below");
        bcast(16, MPI_INT, 64, "the first");
        bcast(32, MPI_INT, 128, "the last");
        bcast(33, MPI_INT, 132, "above");
        bcast(0, MPI_INT, 0, "none");
        bcast(63, MPI_BYTE, 63, "bytes below");
        bcast(64, MPI_BYTE, 64, "bytes, the first");
        bcast(16, MPI_DOUBLE, 128, "doubles, the last");
        bcast(17, MPI_DOUBLE, 136, "doubles above");
        bcast(1, sixteen, 64, "a type of 16");
        bcast(3, sixteen, 192, "3 of a type of 16");
    }
    MPI_Type_free(&sixteen);
}

#if MPI_VERSION >= 4
static void large(MPI_Count count, int is_replaced) {
    int send[8 * most], got[8 * most], expected[8 * most];
    const MPI_Comm all = MPI_COMM_WORLD;
    const int plain = (int)count;
#define SAME(call, own)                                                         \
    do {                                                                        \
        for (int i = 0; i < 8 * most; ++i) send[i] = 7 * i + rank;              \
        for (int i = 0; i < 8 * most; ++i) got[i] = expected[i] = 3 * i - rank; \
        expect((call) == MPI_SUCCESS, #call);                                   \
        own;                                                                    \
        expect(memcmp(got, expected, sizeof got) == 0, #call);                  \
    } while (0)
    SAME(MPI_Bcast_c(got, count, MPI_INT, 0, all), PMPI_Bcast(expected, plain, MPI_INT, 0, all));
    bcasts += is_replaced;
    SAME(MPI_Gather_c(send, count, MPI_INT, got, count, MPI_INT, 0, all),
         PMPI_Gather(send, plain, MPI_INT, expected, plain, MPI_INT, 0, all));
    SAME(MPI_Scatter_c(send, count, MPI_INT, got, count, MPI_INT, 0, all),
         PMPI_Scatter(send, plain, MPI_INT, expected, plain, MPI_INT, 0, all));
    SAME(MPI_Allgather_c(send, count, MPI_INT, got, count, MPI_INT, all),
         PMPI_Allgather(send, plain, MPI_INT, expected, plain, MPI_INT, all));
    SAME(MPI_Alltoall_c(send, count, MPI_INT, got, count, MPI_INT, all),
         PMPI_Alltoall(send, plain, MPI_INT, expected, plain, MPI_INT, all));
    SAME(MPI_Reduce_c(send, got, count, MPI_INT, MPI_SUM, 0, all),
         PMPI_Reduce(send, expected, plain, MPI_INT, MPI_SUM, 0, all));
    SAME(MPI_Allreduce_c(MPI_IN_PLACE, got, count, MPI_INT, MPI_MAX, all),
         PMPI_Allreduce(MPI_IN_PLACE, expected, plain, MPI_INT, MPI_MAX, all));
    SAME(MPI_Reduce_scatter_block_c(send, got, count, MPI_INT, MPI_SUM, all),
         PMPI_Reduce_scatter_block(send, expected, plain, MPI_INT, MPI_SUM, all));
    SAME(MPI_Scan_c(send, got, count, MPI_INT, MPI_SUM, all),
         PMPI_Scan(send, expected, plain, MPI_INT, MPI_SUM, all));
    SAME(MPI_Exscan_c(send, got, count, MPI_INT, MPI_SUM, all),
         PMPI_Exscan(send, expected, plain, MPI_INT, MPI_SUM, all));
}

// More elements than an int counts, of nothing: the library's own function gets the count as it is.
static void more_than_an_int(void) {
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    char data = 0;
    expect(MPI_Bcast_c(&data, ((MPI_Count)1 << 31) + 32, nothing, 0, MPI_COMM_WORLD) == MPI_SUCCESS,
           "2^31 + 32");
    MPI_Type_free(&nothing);
}
#endif

static void fortran(void) {
    unsigned char got[8 * most], expected[8 * most];
    MPI_Fint count = 16, type = MPI_Type_c2f(MPI_INT), root = 0, all = MPI_Comm_c2f(MPI_COMM_WORLD),
             error = 1;
    fill(got, rank);
    fill(expected, rank);
    mpi_bcast_(got, &count, &type, &root, &all, &error);
    PMPI_Bcast(expected, 16, MPI_INT, 0, MPI_COMM_WORLD);
    expect(error == MPI_SUCCESS && memcmp(got, expected, sizeof got) == 0, "from Fortran");
    ++bcasts;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    edges();
    int with_c = 0, with_fortran = 0;
#if MPI_VERSION >= 4
    large(8, 0);
    large(20, 1);
    large(40, 0);
    more_than_an_int();
    with_c = 1;
#endif
    if (mpi_bcast_ != NULL) {
        fortran();
        with_fortran = 1;
    }
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("wrong: %d, bcast: %d, _c: %d, fortran: %d\n", wrong, bcasts * size, with_c, with_fortran);
    MPI_Finalize();
    return wrong != 0;
}
