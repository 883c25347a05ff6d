// SPDX-License-Identifier: Apache-2.0
// Puts, gets and accumulates of random lengths under each synchronization, into two windows of the same
// contents.
#include <string.h>

#include "families.h"

#define P(Name, arguments) (by == tried ? MPI_##Name arguments : PMPI_##Name arguments)

// Of each rank: a place for each origin, then one that all of them add to.
enum {
    ints_of_an_origin = 16,
    most_origins = 64,
    shared_from = ints_of_an_origin * most_origins,
    ints = shared_from + 16
};
enum { kinds_of_windows = 2 };

static MPI_Win windows[kinds_of_windows][2];
static int* memory[kinds_of_windows][2];
static int created[2][ints];

void open_windows(Sequence* s) {
    const MPI_Aint bytes = ints * sizeof(int);
    for (int by = tried; by <= native; ++by) {
        memory[0][by] = created[by];
        P(Win_create, (created[by], bytes, sizeof(int), MPI_INFO_NULL, s->world, &windows[0][by]));
        P(Win_allocate, (bytes, sizeof(int), MPI_INFO_NULL, s->world, &memory[1][by], &windows[1][by]));
        for (int i = 0; i < kinds_of_windows; ++i) {
            PMPI_Win_set_errhandler(windows[i][by], MPI_ERRORS_RETURN);
            for (int k = 0; k < ints; ++k) memory[i][by][k] = k * 7919 + s->rank;
        }
    }
    PMPI_Barrier(s->world);
}

void close_windows(Sequence* s) {
    (void)s;
    for (int by = tried; by <= native; ++by)
        for (int i = 0; i < kinds_of_windows; ++i) P(Win_free, (&windows[i][by]));
}

typedef struct {
    int window, synchronization, operation, target, place, count;
    MPI_Op op;
} Access;

static int accessed(Sequence* s, const Access* a, int by) {
    int *const data = (int*)s->send.origin[by], *const result = (int*)s->receive.origin[by];
    const MPI_Win window = windows[a->window][by];
    switch (a->operation) {
        case 0:
            return P(Put, (data, a->count, MPI_INT, a->target, a->place, a->count, MPI_INT, window));
        case 1:
            return P(Get, (result, a->count, MPI_INT, a->target, a->place, a->count, MPI_INT, window));
        case 2:
            return P(Accumulate,
                     (data, a->count, MPI_INT, a->target, shared_from, a->count, MPI_INT, MPI_SUM, window));
        case 3:
            return P(Get_accumulate, (data, a->count, MPI_INT, result, a->count, MPI_INT, a->target, a->place,
                                      a->count, MPI_INT, a->op, window));
        case 4:
            return P(Fetch_and_op, (data, result, MPI_INT, a->target, a->place, a->op, window));
        default:
            return P(Compare_and_swap, (data, data + 1, result, MPI_INT, a->target, a->place, window));
    }
}

static int within_an_epoch(Sequence* s, const Access* a, int by) {
    const MPI_Win window = windows[a->window][by];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group all;
    int code = MPI_SUCCESS;
    switch (a->synchronization) {
        case 0:
            P(Win_fence, (0, window));
            code = accessed(s, a, by);
            P(Win_fence, (0, window));
            break;
        case 1:
            P(Win_lock, (a->operation > 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, a->target, 0, window));
            code = accessed(s, a, by);
            P(Win_unlock, (a->target, window));
            break;
        case 2:
            P(Win_lock_all, (0, window));
            code = accessed(s, a, by);
            P(Win_flush, (a->target, window));
            P(Rput, (s->send.origin[by], a->count, MPI_INT, a->target, a->place, a->count, MPI_INT, window,
                     &request));
            P(Wait, (&request, MPI_STATUS_IGNORE));
            P(Win_unlock_all, (window));
            break;
        default:
            PMPI_Comm_group(s->world, &all);
            P(Win_post, (all, 0, window));
            P(Win_start, (all, 0, window));
            code = accessed(s, a, by);
            P(Win_complete, (window));
            P(Win_wait, (window));
            PMPI_Group_free(&all);
    }
    PMPI_Barrier(s->world);
    return code;
}

void access_once(Sequence* s) {
    static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP, MPI_BXOR, MPI_MAX};
    Access a = {.window = (int)below(&s->all, kinds_of_windows),
                .synchronization = (int)below(&s->all, 4),
                .operation = (int)below(&s->all, 6),
                .target = (s->rank + (int)below(&s->all, 64)) % s->size,
                .place = s->rank * ints_of_an_origin,
                .count = (int)below(&s->all, ints_of_an_origin),
                .op = ops[below(&s->all, 5)]};
    describe(s, "operation %d of %d numbers, synchronization %d, window %d", a.operation, a.count,
             a.synchronization, a.window);
    fill_bytes(&s->send, &s->mine, 0, 128);
    fill_bytes(&s->receive, &s->mine, 0, 128);
    const int code = within_an_epoch(s, &a, tried);
    same_codes(s, code, within_an_epoch(s, &a, native));
    same_bytes(s, &s->send, "origin's buffer");
    same_bytes(s, &s->receive, "result");
    for (int by = tried; by <= native; ++by)
        PMPI_Win_lock(MPI_LOCK_SHARED, s->rank, 0, windows[a.window][by]);
    if (memcmp(memory[a.window][tried], memory[a.window][native], ints * sizeof(int)) != 0)
        differs(s, "the window's memory");
    for (int by = tried; by <= native; ++by) PMPI_Win_unlock(s->rank, windows[a.window][by]);
    PMPI_Barrier(s->world);
}
