/* SPDX-License-Identifier: Apache-2.0
 * Collectives between two groups: rank 0, and all others. Any argument that MPI calls insignificant on an
 * intercommunicator (MPI-4.1, section 6.2.3) can't be read here, and no array is longer than the group that
 * it is about. Three ranks. Arguments: FOLDER, and a case or `all`; what a rank received is in FOLDER/RANK.
 *
 * The root is who says MPI_ROOT, and nobody else: rank 0 of the other group has the number of the root, too.
 * The others of the root's group say MPI_PROC_NULL, and take no part. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guarded.h"

enum { items = 3 };
static int rank, mine, others; /* my rank in the world; sizes of my group and of the other one */
static MPI_Comm between;
static const char* wanted;

static int is_wanted(const char* name) {
    return strcmp(wanted, "all") == 0 || strcmp(wanted, name) == 0;
}

/* The blocking, the nonblocking and, from MPI 4 on, the persistent form of one collective. */
#if MPI_VERSION >= 4
#define PERSIST(name, ...)                                      \
    MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);    \
    MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE); \
    MPI_Request_free(&request);
#else
#define PERSIST(name, ...)
#endif
#define EACH_FORM(name, nonblocking, ...)         \
    do {                                          \
        MPI_Request request;                      \
        MPI_##name(__VA_ARGS__);                  \
        MPI_##nonblocking(__VA_ARGS__, &request); \
        MPI_Wait(&request, MPI_STATUS_IGNORE);    \
        PERSIST(name, __VA_ARGS__)                \
    } while (0)

enum part { root, leaf, nobody };

/* What this rank is where the group of rank 0 has the root (1), or the other group (0). */
static enum part part_of(int has_first) {
    if ((rank == 0) != has_first) return leaf;
    return rank == 0 || rank == 1 ? root : nobody;
}

static int* sent(int count) {
    int* const values = distances(count, 1);
    for (int at = 0; at < count; ++at) values[at] += 100 * rank;
    return values;
}

static void rooted(int has_first) {
    const enum part part = part_of(has_first);
    const int from = part == root ? MPI_ROOT : part == leaf ? 0 : MPI_PROC_NULL;
    const MPI_Datatype of_root = part == root ? MPI_INT : MPI_DATATYPE_NULL;
    const MPI_Datatype of_leaf = part == leaf ? MPI_INT : MPI_DATATYPE_NULL;
    int* const given = part == leaf ? sent(items) : insignificant();
    int* const got = part == leaf ? of_each(items, -1) : insignificant();
    int* const all_given = part == root ? sent(items * others) : insignificant();
    int* const all_got = part == root ? of_each(items * others, -1) : insignificant();
    int* const counts = part == root ? of_each(others, items) : insignificant();
    int* const places = part == root ? distances(others, items) : insignificant();
    const int at_leaf = part == leaf ? items : 0, at_root = part == root ? items : 0;
    if (is_wanted("bcast")) {
        int* const both = part == leaf ? got : all_given;
        EACH_FORM(Bcast, Ibcast, both, items, MPI_INT, from, between);
        if (part == leaf) print("bcast", got, items);
    }
    if (is_wanted("scatter")) {
        EACH_FORM(Scatter, Iscatter, all_given, at_root, of_root, got, at_leaf, of_leaf, from, between);
        if (part == leaf) print("scatter", got, items);
    }
    if (is_wanted("scatterv")) {
        EACH_FORM(Scatterv, Iscatterv, all_given, counts, places, of_root, got, at_leaf, of_leaf, from,
                  between);
        if (part == leaf) print("scatterv", got, items);
    }
    if (is_wanted("gather")) {
        EACH_FORM(Gather, Igather, given, at_leaf, of_leaf, all_got, at_root, of_root, from, between);
        if (part == root) print("gather", all_got, items * others);
    }
    if (is_wanted("gatherv")) {
        EACH_FORM(Gatherv, Igatherv, given, at_leaf, of_leaf, all_got, counts, places, of_root, from,
                  between);
        if (part == root) print("gatherv", all_got, items * others);
    }
    if (is_wanted("reduce")) {
        EACH_FORM(Reduce, Ireduce, given, part == root ? all_got : insignificant(), items, MPI_INT, MPI_SUM,
                  from, between);
        if (part == root) print("reduce", all_got, items);
    }
}

static void to_all(void) {
    int* const given = sent(items * others);
    int* const got = of_each(items * others, -1);
    int* const counts = of_each(others, items);
    int* const places = distances(others, items);
    if (is_wanted("barrier")) EACH_FORM(Barrier, Ibarrier, between);
    if (is_wanted("allreduce")) {
        EACH_FORM(Allreduce, Iallreduce, given, got, items, MPI_INT, MPI_SUM, between);
        print("allreduce", got, items);
    }
    if (is_wanted("allgather")) {
        EACH_FORM(Allgather, Iallgather, given, items, MPI_INT, got, items, MPI_INT, between);
        print("allgather", got, items * others);
    }
    if (is_wanted("allgatherv")) {
        EACH_FORM(Allgatherv, Iallgatherv, given, items, MPI_INT, got, counts, places, MPI_INT, between);
        print("allgatherv", got, items * others);
    }
    if (is_wanted("alltoall")) {
        EACH_FORM(Alltoall, Ialltoall, given, items, MPI_INT, got, items, MPI_INT, between);
        print("alltoall", got, items * others);
    }
    if (is_wanted("alltoallv")) {
        EACH_FORM(Alltoallv, Ialltoallv, given, counts, places, MPI_INT, got, counts, places, MPI_INT,
                  between);
        print("alltoallv", got, items * others);
    }
    if (is_wanted("alltoallw")) {
        int* const in_bytes = distances(others, items * (int)sizeof(int));
        MPI_Datatype* const types = guarded((size_t)others * sizeof *types);
        for (int at = 0; at < others; ++at) types[at] = MPI_INT;
        EACH_FORM(Alltoallw, Ialltoallw, given, counts, in_bytes, types, got, counts, in_bytes, types,
                  between);
        print("alltoallw", got, items * others);
    }
}

/* Both groups reduce as many items, and share them out among their own ranks: counts are by rank of the own
 * group (MPI-4.1, sections 6.10.1 and 6.10.2). */
static void reduced_and_scattered(void) {
    const int all = items * mine * others;
    int* const given = sent(all);
    int* const got = of_each(items * others, -1);
    if (is_wanted("reduce_scatter_block")) {
        EACH_FORM(Reduce_scatter_block, Ireduce_scatter_block, given, got, items * others, MPI_INT, MPI_SUM,
                  between);
        print("reduce_scatter_block", got, items * others);
    }
    if (is_wanted("reduce_scatter")) {
        int* const counts = of_each(mine, items * others);
        EACH_FORM(Reduce_scatter, Ireduce_scatter, given, got, counts, MPI_INT, MPI_SUM, between);
        print("reduce_scatter", got, items * others);
    }
}

int main(int count, char** arguments) {
    char path[4096];
    MPI_Comm local;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", arguments[1], rank);
    wanted = arguments[2];
    out_file = fopen(path, "w");
    if (out_file == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &local);
    MPI_Comm_size(local, &mine);
    /* Who leads neither group need not name the communicator of the leaders (MPI-4.1, section 7.6.2). */
    const int leads = rank <= 1;
    MPI_Intercomm_create(local, 0, leads ? MPI_COMM_WORLD : MPI_COMM_NULL, leads ? rank == 0 : -77, 5,
                         &between);
    MPI_Comm_remote_size(between, &others);
    rooted(1), rooted(0), to_all(), reduced_and_scattered();
    MPI_Comm_free(&between), MPI_Comm_free(&local);
    fclose(out_file);
    MPI_Finalize();
    return 0;
}
