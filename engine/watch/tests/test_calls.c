// SPDX-License-Identifier: Apache-2.0
/* One program for many calls: writes what it received, which must be the same watched and not, to the file
 * FOLDER/RANK. Any number of ranks; arguments: calls, spawn or jump (an error handler
 * that leaves by longjmp), and FOLDER. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guarded.h"

enum { most_ranks = 16, thread_count = 4, rounds = 50 };
static int rank, size;

static void collectives(void) {
    int all[most_ranks], sum = rank + 1, root = rank == 0 ? -7 : rank, counts[most_ranks],
                         offsets[most_ranks];
    MPI_Datatype types[most_ranks];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    print("allreduce in place", &sum, 1);
    for (int i = 0; i < size; ++i) all[i] = i == rank ? 10 + rank : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    print("allgather in place", all, size);
    if (rank == 0) all[0] = 99;
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : &root, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    print("gather in place at the root", all, size);
    int sent[most_ranks], received[most_ranks];
    for (int i = 0; i < size; ++i)
        counts[i] = 1, offsets[i] = 4 * i, types[i] = MPI_INT, sent[i] = 100 * rank + i;
    MPI_Alltoallw(sent, counts, offsets, types, received, counts, offsets, types, MPI_COMM_WORLD);
    print("alltoallw", received, size);
    MPI_Request request;
    MPI_Iscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    print("iscan", &sum, 1);
}

static void messages(void) {
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int in[4] = {-1, -1, -1, -1}, out[4] = {rank, rank + 1, rank + 2, rank + 3}, count = -1, flag = 0;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    MPI_Sendrecv(out, 4, MPI_INT, next, 5, in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    MPI_Get_count(&status, MPI_INT, &count);
    const int seen[3] = {status.MPI_SOURCE, status.MPI_TAG, count};
    print("sendrecv", in, 4), print("its status", seen, 3);
    MPI_Sendrecv_replace(out, 4, MPI_INT, next, 6, previous, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    print("sendrecv_replace", out, 4);
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    const int null[2] = {status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG};
    print("from PROC_NULL", null, 2);
    /* An absolute address: the buffer is MPI_BOTTOM, which is a null pointer in each interface. */
    MPI_Aint address;
    MPI_Datatype absolute;
    int one = 1;
    MPI_Get_address(&in[2], &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Irecv(MPI_BOTTOM, 1, absolute, previous, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&absolute);
    print("into BOTTOM", in, 4);
    MPI_Send_init(out, 2, MPI_INT, next, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 2, MPI_INT, previous, 8, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 0; turn < 3; ++turn) {
        MPI_Startall(2, requests);
        for (int done = 0, now, indices[2]; done < 2; done += now)
            MPI_Waitsome(2, requests, &now, indices, statuses);
    }
    print("persistent", in, 2);
    MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
    MPI_Message message;
    MPI_Isend(&rank, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    print("mprobe", in, 1);
#if MPI_VERSION >= 4 && !defined OPEN_MPI
    MPI_Isend_c(out, 3, MPI_INT, next, 10, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_c(in, (MPI_Count)3, MPI_INT, previous, 10, MPI_COMM_WORLD, &status);
    MPI_Count large = -1;
    MPI_Get_count_c(&status, MPI_INT, &large);
    MPI_Wait(&requests[0], &status);
    print("large counts", in, 3), print("their count", (int[]){(int)large}, 1);
#endif
}

static void windows(void) {
    int *memory, value = 1000 + rank, old = -1;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memory[0] = memory[1] = 0;
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    print("put", memory + 1, 1);
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&rank, &old, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&old, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    print("fetch_and_op", &old, 1);
    MPI_Win_free(&window);
}

/* Callbacks that call MPI: none of those calls is the program's. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    MPI_Aint low, extent;
    MPI_Type_get_true_extent(*type, &low, &extent);
    for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int copy(MPI_Comm comm, int key, void* extra, void* value, void* out, int* flag) {
    int is_inter;
    (void)key, (void)extra;
    MPI_Comm_test_inter(comm, &is_inter);
    *(void**)out = (char*)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int handled = 0;
static void handle(MPI_Comm* comm, int* code, ...) {
    int class;
    (void)comm;
    MPI_Error_class(*code, &class);
    ++handled;
}

static int query(void* extra, MPI_Status* status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void* extra) {
    (void)extra;
    return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void callbacks(void) {
    MPI_Op op;
    int key, sum = 0, found = 0, elements = -1;
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    print("own operation", &sum, 1);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (char*)0 + 41);
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    void* value = NULL;
    MPI_Comm_get_attr(twin, key, &value, &found);
    print("copied attribute", (int[]){(int)(size_t)value}, 1);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(twin, handler);
    const int error = MPI_Send(&rank, 1, MPI_INT, size + 7, 0, twin);
    const int results[2] = {handled, error != MPI_SUCCESS};
    print("own error handler", results, 2);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&twin);
    MPI_Comm_free_keyval(&key);
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_INT, &elements);
    print("generalized request", &elements, 1);
}

static jmp_buf place;
static void leave(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    longjmp(place, 1);
}

static void jump(void) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (setjmp(place) == 0) MPI_Send(&rank, 1, MPI_INT, 7, 0, MPI_COMM_SELF);
    int flag;
    MPI_Initialized(&flag); /* seen, though the call before never returned */
    print("after a jump", &flag, 1);
}

static MPI_Datatype nested = MPI_INT;

static void* exchange(void* argument) {
    static __thread int sum;
    for (int i = 0; i < rounds; ++i) {
        int in = -1, out = rank + i;
        MPI_Sendrecv(&out, 1, nested, (rank + 1) % size, 0, &in, 1, nested, MPI_ANY_SOURCE, 0,
                     *(MPI_Comm*)argument, MPI_STATUS_IGNORE);
        sum += in;
    }
    return (void*)(size_t)sum;
}

static void threads(void) {
    pthread_t thread[thread_count];
    MPI_Comm comms[thread_count];
    int sums[thread_count];
    pthread_attr_t short_stack; /* on which a type of types is read */
    pthread_attr_init(&short_stack), pthread_attr_setstacksize(&short_stack, 64 << 10);
    for (int depth = 0; depth < 10; ++depth)
        MPI_Type_contiguous(1, nested, &nested), MPI_Type_commit(&nested);
    for (int i = 0; i < thread_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < thread_count; ++i) pthread_create(&thread[i], &short_stack, exchange, &comms[i]);
    for (int i = 0; i < thread_count; ++i) {
        void* sum;
        pthread_join(thread[i], &sum);
        sums[i] = (int)(size_t)sum;
        MPI_Comm_free(&comms[i]);
    }
    print("threads", sums, thread_count);
}

static void spawn(char* self, char* folder) {
    MPI_Comm parent, children;
    int sum = -1, one = 1;
    char* arguments[] = {(char*)"spawn", folder, NULL};
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
        MPI_Comm_disconnect(&children);
        if (rank == 0) print("from the spawned", &sum, 1);
    } else {
        MPI_Reduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, parent);
        MPI_Comm_disconnect(&parent);
    }
}

int main(int count, char** arguments) {
    const char* const mode = arguments[1];
    char path[4096];
    int level = MPI_THREAD_SINGLE;
    if (strcmp(mode, "calls") == 0)
        MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof path, "%s/%d", arguments[2], rank);
    out_file = fopen(path, "a");
    if (out_file == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(mode, "spawn") == 0) {
        spawn(arguments[0], arguments[2]);
    } else if (strcmp(mode, "jump") == 0) {
        jump();
    } else {
        collectives(), messages(), windows(), callbacks();
        if (level == MPI_THREAD_MULTIPLE) threads();
    }
    fclose(out_file);
    MPI_Finalize();
    return 3;
}
