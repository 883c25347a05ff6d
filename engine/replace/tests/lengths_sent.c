// SPDX-License-Identifier: Apache-2.0
// Blocks that are sent in one datatype and received in another one of the same signature: as bytes, as
// elements of four, with gaps, out of order. On all ranks alike, or turned round on one of them. Each result
// is held to what was sent, since a library's own function may be wrong. Prints how many were, by collective.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most_ranks = 4, kinds = 5, most_units = 24, of_a_unit = 4, room = 1024 };
enum { gather, scatter, allgather, alltoall, collectives };

typedef struct {
    MPI_Datatype type;
    int is_byte;
    MPI_Aint extent;
    int places[of_a_unit];
} Kind;

static Kind all[kinds];
static int rank, ranks, wrong[collectives];
static unsigned char sent[most_ranks * room], got[most_ranks * room];

static unsigned char value(int from, long at) {
    return (unsigned char)(from * 50 + at * 7 + (at >> 8) * 3);
}

static int count_of(const Kind* kind, int units) {
    return kind->is_byte ? units * of_a_unit : units;
}

static long place(const Kind* kind, int block, int units, int element) {
    const long first = (long)block * count_of(kind, units) * kind->extent;
    if (kind->is_byte) return first + element;
    return first + element / of_a_unit * kind->extent + kind->places[element % of_a_unit];
}

// Block `taken` of what rank `from` sent is block `put` here.
static int is_wrong(int from, const Kind* of_sender, int taken, const Kind* here, int put, int units) {
    for (int i = 0; i < units * of_a_unit; ++i)
        if (got[place(here, put, units, i)] != value(from, place(of_sender, taken, units, i))) return 1;
    return 0;
}

static void renew(void) {
    for (long i = 0; i < (long)sizeof sent; ++i) sent[i] = value(rank, i);
    memset(got, 0xEE, sizeof got);
}

static void move(const Kind* const of_rank[2][most_ranks], int units) {
    const Kind *const from = of_rank[0][rank], *const to = of_rank[1][rank];
    const int from_count = count_of(from, units), to_count = count_of(to, units);
    const MPI_Comm comm = MPI_COMM_WORLD;
    for (int root = 0; root < ranks; ++root) {
        renew();
        int code = MPI_Gather(sent, from_count, from->type, got, to_count, to->type, root, comm);
        for (int i = 0; rank == root && i < ranks; ++i)
            wrong[gather] += code || is_wrong(i, of_rank[0][i], 0, to, i, units);
        renew();
        code = MPI_Scatter(sent, from_count, from->type, got, to_count, to->type, root, comm);
        wrong[scatter] += code || is_wrong(root, of_rank[0][root], rank, to, 0, units);
    }
    renew();
    int code = MPI_Allgather(sent, from_count, from->type, got, to_count, to->type, comm);
    for (int i = 0; i < ranks; ++i) wrong[allgather] += code || is_wrong(i, of_rank[0][i], 0, to, i, units);
    renew();
    code = MPI_Alltoall(sent, from_count, from->type, got, to_count, to->type, comm);
    for (int i = 0; i < ranks; ++i) wrong[alltoall] += code || is_wrong(i, of_rank[0][i], rank, to, i, units);
}

static void make_kinds(void) {
    static const int dense[] = {0, 1, 2, 3}, apart[] = {0, 2, 4, 6}, turned[] = {3, 0, 2, 5};
    MPI_Datatype four;
    all[0] = (Kind){.type = MPI_BYTE, .is_byte = 1};
    MPI_Type_contiguous(of_a_unit, MPI_BYTE, &all[1].type);
    MPI_Type_vector(of_a_unit, 1, 2, MPI_BYTE, &all[2].type);
    MPI_Type_contiguous(of_a_unit, MPI_BYTE, &four);
    MPI_Type_create_resized(four, 0, 6, &all[3].type);
    MPI_Type_free(&four);
    MPI_Type_create_indexed_block(of_a_unit, 1, turned, MPI_BYTE, &all[4].type);
    const int* const places[kinds] = {dense, dense, apart, dense, turned};
    for (int i = 0; i < kinds; ++i) {
        MPI_Aint lower;
        if (i > 0) MPI_Type_commit(&all[i].type);
        MPI_Type_get_extent(all[i].type, &lower, &all[i].extent);
        memcpy(all[i].places, places[i], sizeof all[i].places);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make_kinds();
    for (int units = 1; units <= most_units; ++units)
        for (int from = 0; from < kinds; ++from)
            for (int to = 0; to < kinds; ++to)
                for (int is_mixed = 0; is_mixed < 2; ++is_mixed) {
                    const Kind* of_rank[2][most_ranks];
                    for (int i = 0; i < ranks; ++i) {
                        const int is_turned = is_mixed && i == 1;
                        of_rank[0][i] = &all[is_turned ? to : from];
                        of_rank[1][i] = &all[is_turned ? from : to];
                    }
                    move(of_rank, units);
                }
    for (int i = 1; i < kinds; ++i) MPI_Type_free(&all[i].type);
    PMPI_Allreduce(MPI_IN_PLACE, wrong, collectives, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("gather %d, scatter %d, allgather %d, alltoall %d\n", wrong[gather], wrong[scatter],
               wrong[allgather], wrong[alltoall]);
    MPI_Finalize();
    return 0;
}
