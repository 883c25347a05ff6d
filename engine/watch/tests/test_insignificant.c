/* SPDX-License-Identifier: Apache-2.0
 * Calls with arguments that MPI does not look at, which can't be read here: in place, off the root, of no
 * neighbour, of MPI_NO_OP, of no request. Then calls with null pointers that MPI refuses: each has to return
 * the class that it returns unwatched, and to call the program's error handler as often; those that a library
 * does not refuse but follows have to end as unwatched, too: by SIGSEGV. Any number of ranks;
 * arguments: FOLDER, and `refused`, `all` others, or a case. What a rank received is in FOLDER/RANK. */
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "guarded.h"

enum { items = 2 };
static int rank, size;

/* What is sent is insignificant in place: its counts, places and datatypes as well (MPI-4.1, 6.8, 6.9). */
static void in_place(void) {
    int* const none = insignificant();
    int* const all = distances(items * size, 1);
    int* const counts = of_each(size, items);
    int* const places = distances(size, items);
    int* const in_bytes = distances(size, items * (int)sizeof(int));
    MPI_Datatype* const types = guarded((size_t)size * sizeof *types);
    for (int at = 0; at < size; ++at) types[at] = MPI_INT;
    for (int at = 0; at < items * size; ++at) all[at] += 100 * rank;
    MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, items, MPI_INT, MPI_COMM_WORLD);
    print("alltoall", all, items * size);
    MPI_Alltoallv(MPI_IN_PLACE, none, none, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    print("alltoallv", all, items * size);
    MPI_Alltoallw(MPI_IN_PLACE, none, none, (void*)none, all, counts, in_bytes, types, MPI_COMM_WORLD);
    print("alltoallw", all, items * size);
    MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    print("allgatherv", all, items * size);
    MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    print("reduce_scatter", all, items);
}

/* MPI-4.1, 6.5 to 6.9: only the root has to know of all. */
static void off_the_root(void) {
    const int root = size - 1, is_root = rank == root;
    int* const none = insignificant();
    int* const mine = distances(items, 1 + rank);
    int* const all = is_root ? distances(items * size, 1) : none;
    int* const counts = is_root ? of_each(size, items) : none;
    int* const places = is_root ? distances(size, items) : none;
    const MPI_Datatype of_root = is_root ? MPI_INT : MPI_DATATYPE_NULL;
    MPI_Scatterv(all, counts, places, of_root, mine, items, MPI_INT, root, MPI_COMM_WORLD);
    print("scatterv", mine, items);
    MPI_Gatherv(mine, items, MPI_INT, all, counts, places, of_root, root, MPI_COMM_WORLD);
    MPI_Gather(mine, items, MPI_INT, all, is_root ? items : -1, of_root, root, MPI_COMM_WORLD);
    MPI_Reduce(mine, is_root ? all : none, items, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (is_root) print("reduce", all, items);
    /* In place at the root: what it gives to itself, or takes from itself, has no arguments. */
    MPI_Scatterv(all, counts, places, of_root, is_root ? MPI_IN_PLACE : mine, is_root ? -1 : items,
                 is_root ? MPI_DATATYPE_NULL : MPI_INT, root, MPI_COMM_WORLD);
    MPI_Gatherv(is_root ? MPI_IN_PLACE : mine, is_root ? -1 : items, is_root ? MPI_DATATYPE_NULL : MPI_INT,
                all, counts, places, of_root, root, MPI_COMM_WORLD);
    if (is_root) print("gatherv in place", all, items * size);
}

/* A grid has no neighbour beyond its edge, and a graph may have a rank without any. A datatype of what is
 * not sent is not looked at. */
static void neighbours(void) {
    MPI_Comm grid, graph;
    int* const periods = of_each(1, 0);
    int* const none = insignificant();
    int given[2] = {10 * rank, 10 * rank + 1}, got[2] = {-1, -1};
    int* const counts = of_each(2, 1);
    int* const places = distances(2, 1);
    MPI_Aint* const in_bytes = guarded(2 * sizeof *in_bytes);
    MPI_Datatype* const types = guarded(2 * sizeof *types);
    for (int at = 0; at < 2; ++at) in_bytes[at] = at * (MPI_Aint)sizeof(int), types[at] = MPI_INT;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &grid);
    MPI_Neighbor_alltoallv(given, counts, places, MPI_INT, got, counts, places, MPI_INT, grid);
    print("grid, alltoallv", got, 2);
    MPI_Neighbor_alltoallw(given, counts, in_bytes, types, got, counts, in_bytes, types, grid);
    print("grid, alltoallw", got, 2);
    MPI_Neighbor_allgatherv(given, 1, MPI_INT, got, counts, places, MPI_INT, grid);
    print("grid, allgatherv", got, 2);
    /* From rank 0 to the last one; nothing else. */
    const int sends = rank == 0 && size > 1, receives = rank == size - 1 && size > 1;
    const int last = size - 1, first = 0;
    int* const out = sends ? of_each(1, 1) : none;
    int* const in = receives ? of_each(1, 1) : none;
    int* const zero = sends || receives ? of_each(1, 0) : none;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, receives, &first, MPI_UNWEIGHTED, sends, &last,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoallv(given, out, zero, MPI_INT, got, in, zero, MPI_INT, graph);
    print("graph, alltoallv", got, 2);
    MPI_Comm_free(&grid), MPI_Comm_free(&graph);
}

/* MPI_NO_OP: the origin has nothing to say (MPI-4.1, 12.3.4). */
static void no_operation(void) {
    int *memory, got = -1, again = -1;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 40 + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(insignificant(), &got, MPI_INT, (rank + 1) % size, 0, MPI_NO_OP, window);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &again, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT,
                       MPI_NO_OP, window);
    MPI_Win_unlock_all(window);
    print("fetched", &got, 1), print("got", &again, 1);
    MPI_Win_free(&window);
}

static void no_requests(void) {
    int index = 5, count = 5, flag = 5;
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    print("testall of none", &flag, 1);
    MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
    index = index == MPI_UNDEFINED;
    print("waitany of none", &index, 1);
    MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
    count = count == MPI_UNDEFINED;
    print("waitsome of none", &count, 1);
    MPI_Testsome(1, &null, &count, insignificant(), MPI_STATUSES_IGNORE);
    count = count == MPI_UNDEFINED;
    print("testsome of a null request", &count, 1);
}

static int handled;
static void handle(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++handled;
}

/* Where a library follows a null pointer, its call is left here. */
static sigjmp_buf place;
static void leave(int number) {
    (void)number;
    siglongjmp(place, 1);
}

static void say(const char* name, int code) {
    int values[2] = {-1, handled};
    MPI_Error_class(code, &values[0]);
    print(name, values, 2);
    handled = 0;
}

/* Arguments that MPI refuses, and calls with none of which the program is at fault for asking. */
static void refused(void) {
    int given[8] = {0}, got[8] = {0}, count = 1 << 30;
    int* const zeros = of_each(size, 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    struct sigaction leaving = {.sa_handler = leave};
    sigaction(SIGSEGV, &leaving, NULL);
#define TRY(name, call)                    \
    do {                                   \
        if (sigsetjmp(place, 1) == 0)      \
            say(name, call);               \
        else                               \
            print(name " ends", &rank, 1); \
    } while (0)
    TRY("alltoallv", MPI_Alltoallv(given, NULL, zeros, MPI_INT, got, zeros, zeros, MPI_INT, world));
    TRY("alltoallw", MPI_Alltoallw(given, zeros, zeros, NULL, got, zeros, zeros, NULL, world));
    TRY("reduce_scatter", MPI_Reduce_scatter(given, got, NULL, MPI_INT, MPI_SUM, world));
    TRY("scatterv",
        rank != 0 ? MPI_SUCCESS : MPI_Scatterv(given, NULL, NULL, MPI_INT, got, 1, MPI_INT, 0, world));
    TRY("allgatherv", MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, got, NULL, NULL, MPI_INT, world));
    TRY("ialltoallv",
        MPI_Ialltoallv(given, NULL, zeros, MPI_INT, got, zeros, zeros, MPI_INT, world, &request));
    TRY("waitall", MPI_Waitall(3, NULL, MPI_STATUSES_IGNORE));
    TRY("waitsome", MPI_Waitsome(2, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    TRY("waitsome without places", MPI_Waitsome(1, &request, NULL, NULL, MPI_STATUSES_IGNORE));
    TRY("testany", MPI_Testany(2, NULL, NULL, NULL, MPI_STATUS_IGNORE));
    TRY("testany without places", MPI_Testany(1, &request, NULL, NULL, MPI_STATUS_IGNORE));
    TRY("waitany without a place", MPI_Waitany(1, &request, NULL, MPI_STATUS_IGNORE));
    TRY("test without a flag", MPI_Test(&request, NULL, MPI_STATUS_IGNORE));
    TRY("wait", MPI_Wait(NULL, MPI_STATUS_IGNORE));
    TRY("startall", MPI_Startall(2, NULL));
    TRY("isend", MPI_Isend(given, 1, MPI_INT, rank, 0, world, NULL));
    TRY("iprobe", MPI_Iprobe(rank, 0, world, NULL, MPI_STATUS_IGNORE));
#ifndef OPEN_MPI /* ends the program */
    TRY("mrecv", MPI_Mrecv(got, 1, MPI_INT, NULL, MPI_STATUS_IGNORE));
#endif
    TRY("comm_dup", MPI_Comm_dup(world, NULL));
    TRY("comm_free", MPI_Comm_free(NULL));
    TRY("cart_create", MPI_Cart_create(world, 2, NULL, NULL, 0, NULL));
    TRY("type_commit", MPI_Type_commit(NULL));
    TRY("type_free", MPI_Type_free(NULL));
    TRY("type_contiguous", MPI_Type_contiguous(3, MPI_INT, NULL));
    TRY("type_create_struct", MPI_Type_create_struct(2, NULL, NULL, NULL, NULL));
    TRY("win_create", MPI_Win_create(given, 4, 1, MPI_INFO_NULL, world, NULL));
    TRY("send to no communicator", MPI_Send(given, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    TRY("receive from no communicator", MPI_Recv(got, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE));
    TRY("bcast on no communicator", MPI_Bcast(got, 1, MPI_INT, 0, MPI_COMM_NULL));
    TRY("send of no datatype", MPI_Send(given, 1, MPI_DATATYPE_NULL, 0, 0, world));
}

/* What a message that is too long makes of a wait depends on nothing but the program's own arguments. */
static void truncated(void) {
    int given[4] = {1, 2, 3, 4}, got[4] = {0};
    MPI_Request requests[2];
    for (int with = 0; with < 2; ++with) {
        MPI_Status statuses[2];
        MPI_Irecv(got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(given, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]);
        say(with ? "truncated" : "truncated, statuses ignored",
            MPI_Waitall(2, requests, with ? statuses : MPI_STATUSES_IGNORE));
        MPI_Isend(given, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]);
        say("truncated receive",
            MPI_Recv(got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, with ? statuses : MPI_STATUS_IGNORE));
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
}

int main(int count, char** arguments) {
    static const struct {
        const char* name;
        void (*run)(void);
    } cases[] = {{"in_place", in_place},         {"off_the_root", off_the_root}, {"neighbours", neighbours},
                 {"no_operation", no_operation}, {"no_requests", no_requests},   {"refused", refused},
                 {"truncated", truncated}};
    char path[4096];
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/%d", arguments[1], rank);
    out_file = fopen(path, "w");
    if (out_file == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    for (size_t at = 0; at < sizeof cases / sizeof *cases; ++at) {
        const int is_of_all = strcmp(arguments[2], "all") == 0 && cases[at].run != refused;
        if (!is_of_all && strcmp(arguments[2], cases[at].name) != 0) continue;
        if (cases[at].run == refused || cases[at].run == truncated) {
            MPI_Errhandler handler;
            MPI_Comm_create_errhandler(handle, &handler);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
            MPI_Errhandler_free(&handler);
        }
        cases[at].run();
    }
    fclose(out_file);
    MPI_Finalize();
    return 0;
}
