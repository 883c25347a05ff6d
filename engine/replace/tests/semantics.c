// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of libslowpath-coll.so, run with it (tests/engine/test_coll_replaced.py): what
// MPI promises of collectives, each result held to that of the profiling name, which nobody replaces.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 4096 };

static int wrong = 0;
static int rank_of_world = 0;

#define EXPECT(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            ++wrong;                                                                   \
            printf("rank %d: line %d: not %s\n", rank_of_world, __LINE__, #condition); \
        }                                                                              \
    } while (0)

typedef struct {
    uint32_t a, b;
} Map;

// y after x of the maps t -> a t + b: the order counts.
static void compose(void* first, void* second, int* count, MPI_Datatype* type) {
    (void)type;
    const Map* in = first;
    Map* inout = second;
    for (int i = 0; i < *count; ++i) {
        const Map x = in[i], y = inout[i];
        inout[i].a = y.a * x.a;
        inout[i].b = y.a * x.b + y.b;
    }
}

static void larger(void* first, void* second, int* count, MPI_Datatype* type) {
    (void)type;
    const int* in = first;
    int* inout = second;
    for (int i = 0; i < *count; ++i) inout[i] = in[i] > inout[i] ? in[i] : inout[i];
}

static void fill(int* data, int count, int seed) {
    for (int i = 0; i < count; ++i)
        data[i] = (int)((uint32_t)(i + 1) * 2654435761u + (uint32_t)seed * 40503u) >> 8;
}

typedef int Reduction(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static void reduces(Reduction* call, Reduction* own, MPI_Comm comm, MPI_Datatype type, int ints, MPI_Op op,
                    int count, int in_place, int blocks) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    static __thread int send[8 * most], got[8 * most], expected[8 * most];
    const int given = count * ints * (blocks ? size : 1);
    fill(send, given, rank + 1);
    memcpy(got, send, sizeof got);
    memcpy(expected, send, sizeof got);
    EXPECT(call(in_place ? MPI_IN_PLACE : send, got, count, type, op, comm) == MPI_SUCCESS);
    EXPECT(own(in_place ? MPI_IN_PLACE : send, expected, count, type, op, comm) == MPI_SUCCESS);
    const int is_undefined = own == PMPI_Exscan && rank == 0;
    if (!is_undefined) EXPECT(memcmp(got, expected, sizeof(int) * (size_t)(count * ints)) == 0);
}

static void reductions(MPI_Comm comm, int count) {
    MPI_Op in_order, greatest;
    MPI_Datatype map;
    MPI_Op_create(compose, 0, &in_order);
    MPI_Op_create(larger, 1, &greatest);
    MPI_Type_contiguous(2, MPI_INT, &map);
    MPI_Type_commit(&map);
    Reduction* const calls[] = {MPI_Allreduce, MPI_Scan, MPI_Exscan, MPI_Reduce_scatter_block};
    Reduction* const own[] = {PMPI_Allreduce, PMPI_Scan, PMPI_Exscan, PMPI_Reduce_scatter_block};
    for (int i = 0; i < 4; ++i)
        for (int in_place = 0; in_place < 2; ++in_place) {
            reduces(calls[i], own[i], comm, MPI_INT, 1, MPI_SUM, count, in_place, i == 3);
            reduces(calls[i], own[i], comm, MPI_INT, 1, greatest, count, in_place, i == 3);
            reduces(calls[i], own[i], comm, map, 2, in_order, count, in_place, i == 3);
        }
    MPI_Type_free(&map);
    MPI_Op_free(&in_order);
    MPI_Op_free(&greatest);
}

// In place at the root alone, and on each rank in turn as root.
static void rooted(MPI_Comm comm, int count) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    static int send[8 * most], got[8 * most], expected[8 * most];
    for (int root = 0; root < size; ++root)
        for (int in_place = 0; in_place < 2; ++in_place) {
            const int here = rank == root, places = here && in_place;
            fill(send, count * size, rank + 1);
            fill(got, count * size, rank + 9);
            memcpy(expected, got, sizeof got);
            EXPECT(MPI_Bcast(got, count, MPI_INT, root, comm) == MPI_SUCCESS);
            PMPI_Bcast(expected, count, MPI_INT, root, comm);
            EXPECT(memcmp(got, expected, sizeof got) == 0);
            EXPECT(MPI_Reduce(places ? MPI_IN_PLACE : send, here ? got : NULL, count, MPI_INT, MPI_SUM, root,
                              comm) == MPI_SUCCESS);
            PMPI_Reduce(places ? MPI_IN_PLACE : send, here ? expected : NULL, count, MPI_INT, MPI_SUM, root,
                        comm);
            EXPECT(memcmp(got, expected, sizeof got) == 0);
            // What is not significant elsewhere is rubbish there.
            EXPECT(MPI_Gather(places ? MPI_IN_PLACE : send, count, MPI_INT, here ? got : NULL,
                              here ? count : -7, here ? MPI_INT : MPI_DATATYPE_NULL, root,
                              comm) == MPI_SUCCESS);
            PMPI_Gather(places ? MPI_IN_PLACE : send, count, MPI_INT, here ? expected : NULL,
                        here ? count : -7, here ? MPI_INT : MPI_DATATYPE_NULL, root, comm);
            EXPECT(memcmp(got, expected, sizeof got) == 0);
            EXPECT(MPI_Scatter(here ? send : NULL, here ? count : -7, here ? MPI_INT : MPI_DATATYPE_NULL,
                               places ? MPI_IN_PLACE : got, count, MPI_INT, root, comm) == MPI_SUCCESS);
            PMPI_Scatter(here ? send : NULL, here ? count : -7, here ? MPI_INT : MPI_DATATYPE_NULL,
                         places ? MPI_IN_PLACE : expected, count, MPI_INT, root, comm);
            EXPECT(memcmp(got, expected, sizeof got) == 0);
        }
}

static void to_all(MPI_Comm comm, int count) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    static int send[8 * most], got[8 * most], expected[8 * most];
    for (int in_place = 0; in_place < 2; ++in_place) {
        fill(send, count * size, rank + 1);
        fill(got, count * size, rank + 9);
        memcpy(expected, got, sizeof got);
        const void* const from = in_place ? MPI_IN_PLACE : send;
        EXPECT(MPI_Allgather(from, count, MPI_INT, got, count, MPI_INT, comm) == MPI_SUCCESS);
        PMPI_Allgather(from, count, MPI_INT, expected, count, MPI_INT, comm);
        EXPECT(memcmp(got, expected, sizeof got) == 0);
        fill(got, count * size, rank + 5);
        memcpy(expected, got, sizeof got);
        EXPECT(MPI_Alltoall(from, count, MPI_INT, got, count, MPI_INT, comm) == MPI_SUCCESS);
        PMPI_Alltoall(from, count, MPI_INT, expected, count, MPI_INT, comm);
        EXPECT(memcmp(got, expected, sizeof got) == 0);
        int counts[64];
        for (int i = 0; i < size; ++i) counts[i] = i % 2 ? count : count / 2;
        fill(got, count * size, rank + 5);
        memcpy(expected, got, sizeof got);
        EXPECT(MPI_Reduce_scatter(from, got, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        PMPI_Reduce_scatter(from, expected, counts, MPI_INT, MPI_SUM, comm);
        EXPECT(memcmp(got, expected, sizeof(int) * (size_t)counts[rank]) == 0);
    }
    EXPECT(MPI_Barrier(comm) == MPI_SUCCESS);
}

// Datatypes of one signature that are not the same on all ranks; a gap must be left as it was.
static void datatypes(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Datatype strided;
    MPI_Type_vector(100, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    int got[200], expected[200];
    for (int i = 0; i < 200; ++i) got[i] = expected[i] = 1000 * rank + i;
    const int is_strided = rank % 2;
    EXPECT(MPI_Bcast(got, is_strided ? 1 : 100, is_strided ? strided : MPI_INT, 0, comm) == MPI_SUCCESS);
    PMPI_Bcast(expected, is_strided ? 1 : 100, is_strided ? strided : MPI_INT, 0, comm);
    EXPECT(memcmp(got, expected, sizeof got) == 0);
    MPI_Type_free(&strided);
}

static int handled = 0;
static int handled_class = MPI_SUCCESS;
static MPI_Comm handled_on;

static void handler(MPI_Comm* comm, int* code, ...) {
    ++handled;
    handled_on = *comm;
    MPI_Error_class(*code, &handled_class);
}

static int seen_errors = 0;  // some libraries are built without checks

// As without the library: the same class, the same return value, the same communicator, once.
#define SAME_ERROR(call, own)                     \
    do {                                          \
        int class_here, class_own;                \
        handled = 0;                              \
        MPI_Error_class(own, &class_own);         \
        const int times = handled;                \
        const int seen = handled_class;           \
        handled = 0;                              \
        MPI_Error_class(call, &class_here);       \
        EXPECT(class_here == class_own);          \
        EXPECT(handled == times);                 \
        EXPECT(handled_class == seen);            \
        EXPECT(times == 0 || handled_on == comm); \
        seen_errors += times;                     \
    } while (0)

static void errors(MPI_Comm of) {
    MPI_Comm comm;
    MPI_Errhandler made;
    MPI_Comm_dup(of, &comm);
    MPI_Comm_create_errhandler(handler, &made);
    MPI_Comm_set_errhandler(comm, made);
    int rank;
    MPI_Comm_rank(comm, &rank);
    int data[64] = {0}, got[64] = {0};
    SAME_ERROR(MPI_Bcast(data, 64, MPI_INT, 99, comm), PMPI_Bcast(data, 64, MPI_INT, 99, comm));
    SAME_ERROR(MPI_Bcast(data, -1, MPI_INT, 0, comm), PMPI_Bcast(data, -1, MPI_INT, 0, comm));
    SAME_ERROR(MPI_Bcast(data, 64, MPI_DATATYPE_NULL, 0, comm),
               PMPI_Bcast(data, 64, MPI_DATATYPE_NULL, 0, comm));
    SAME_ERROR(MPI_Allreduce(data, got, 64, MPI_INT, MPI_OP_NULL, comm),
               PMPI_Allreduce(data, got, 64, MPI_INT, MPI_OP_NULL, comm));
    MPI_Datatype uncommitted;
    MPI_Type_vector(8, 1, 2, MPI_INT, &uncommitted);
    if (seen_errors > 0) {
        SAME_ERROR(MPI_Bcast(data, 4, uncommitted, 0, comm), PMPI_Bcast(data, 4, uncommitted, 0, comm));
        SAME_ERROR(MPI_Alltoall(data, 1, uncommitted, got, 1, uncommitted, comm),
                   PMPI_Alltoall(data, 1, uncommitted, got, 1, uncommitted, comm));
        SAME_ERROR(MPI_Reduce_scatter_block(data, got, 4, uncommitted, MPI_SUM, comm),
                   PMPI_Reduce_scatter_block(data, got, 4, uncommitted, MPI_SUM, comm));
    }
    MPI_Type_free(&uncommitted);
    MPI_Errhandler_free(&made);
    MPI_Comm_free(&comm);
}

// With two of a mock-up's each, more communicators than MPICH has at a time (2048): they go with the
// program's own.
static void many_communicators(void) {
    for (int i = 0; i < 1100; ++i) {
        MPI_Comm comm;
        int data[64] = {i};
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Allreduce(MPI_IN_PLACE, data, 64, MPI_INT, MPI_MAX, comm);
        MPI_Comm_free(&comm);
    }
}

static void intercommunicator(void) {
    int rank, size;
    MPI_Comm half, inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) return;
    const int upper = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 1, &inter);
    int data[64] = {rank}, root = MPI_PROC_NULL;
    if (!upper) root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (!upper) data[0] = 77;
    EXPECT(MPI_Bcast(data, 64, MPI_INT, upper ? 0 : root, inter) == MPI_SUCCESS);
    EXPECT(data[0] == 77);
    int got[64];
    EXPECT(MPI_Allreduce(data, got, 64, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void* of_thread(void* argument) {
    MPI_Comm comm = *(MPI_Comm*)argument;
    for (int i = 0; i < 20; ++i)
        for (int in_place = 0; in_place < 2; ++in_place) {
            reduces(MPI_Allreduce, PMPI_Allreduce, comm, MPI_INT, 1, MPI_SUM, 500, in_place, 0);
            reduces(MPI_Scan, PMPI_Scan, comm, MPI_INT, 1, MPI_SUM, 500, in_place, 0);
        }
    return NULL;
}

static void threads(void) {
    MPI_Comm comms[2];
    pthread_t made[2];
    for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 2; ++i) pthread_create(&made[i], NULL, of_thread, &comms[i]);
    for (int i = 0; i < 2; ++i) pthread_join(made[i], NULL);
    for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
}

// Argument: "threads": with MPI_THREAD_MULTIPLE and many communicators too.
int main(int argc, char** argv) {
    int provided = MPI_THREAD_SINGLE;
    const int threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world, &turned);
    MPI_Comm_set_errhandler(turned, MPI_ERRORS_RETURN);
    const int counts[] = {0, 1, 33, 1000};
    for (int i = 0; i < 4; ++i) {
        reductions(turned, counts[i]);
        rooted(turned, counts[i]);
        to_all(turned, counts[i]);
    }
    reductions(MPI_COMM_SELF, 33);
    rooted(MPI_COMM_SELF, 33);
    datatypes(MPI_COMM_WORLD);
    errors(turned);
    intercommunicator();
    MPI_Comm_free(&turned);
    if (threaded && provided == MPI_THREAD_MULTIPLE) threads();
    if (threaded) many_communicators();
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank_of_world == 0) printf("wrong: %d, errors: %d\n", wrong, seen_errors);
    MPI_Finalize();
    return wrong != 0;
}
