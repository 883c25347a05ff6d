// SPDX-License-Identifier: Apache-2.0
/* To preload: delays MPI calls by PLANT, clauses separated by ";". A clause is a call and numbers, as in
 *
 *     PLANT="send above=8192 us=200; receive any=1 us=50; put ns_per_byte=0.5"
 *
 * Calls: the rows at the end of this file, without "MPI_" and in lower case; send and receive also stand for their
 * nonblocking forms, flush for flush_all. Messages count on MPI_COMM_WORLD alone.
 *     us, ns_per_byte, us_per_block        the cost, spun before the call; blocks of a vector or indexed type
 *     above, multiple_of                   only more bytes than this; only multiples of it
 *     every                                only each n-th call that fulfils the other conditions
 *     first                                1: only the first use of an address by this call
 *     any                                  1: only receives from MPI_ANY_SOURCE
 *     idle_us                              only when the process was outside MPI for longer
 *     rank, root                           only this rank of MPI_COMM_WORLD; only collectives with this root */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { US, NS_PER_BYTE, US_PER_BLOCK, ABOVE, MULTIPLE_OF, EVERY, FIRST, ANY, IDLE_US, RANK, ROOT, NUMBERS };
static const char* const numbers[NUMBERS] = {"us",    "ns_per_byte", "us_per_block", "above", "multiple_of", "every",
                                             "first", "any",         "idle_us",      "rank",  "root"};

struct clause {
    char call[32];
    double number[NUMBERS]; /* -1: not given */
    long fulfilled;
};
static struct clause clauses[16];
static int clause_count;
static double left_s; /* when the last call returned */

enum { MOST_BUFFERS = 4096 };
struct use {
    const void* address;
    const char* call;
};
static struct use uses[MOST_BUFFERS];
static int use_count;

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void wrong(const char* text) {
    fprintf(stderr, "plant: error: '%s' in PLANT\n", text);
    _Exit(2);
}

/* A word that can't be read ends the process: a plant that does nothing would pass for one that was missed. */
static void read_number(struct clause* clause, char* word) {
    char *value = strchr(word, '='), *end;
    for (int i = 0; value != NULL && i < NUMBERS; ++i) {
        if (strncmp(word, numbers[i], (size_t)(value - word)) != 0 || numbers[i][value - word] != '\0') continue;
        clause->number[i] = strtod(value + 1, &end);
        if (end == value + 1 || *end != '\0') break;
        return;
    }
    wrong(word);
}

__attribute__((constructor)) static void read_plant(void) {
    const char* const text = getenv("PLANT");
    char *copy = text ? strdup(text) : NULL, *of_clauses, *of_words;
    for (char* part = copy ? strtok_r(copy, ";", &of_clauses) : NULL; part; part = strtok_r(NULL, ";", &of_clauses)) {
        struct clause* const clause = &clauses[clause_count++];
        char* word = strtok_r(part, " ", &of_words);
        if (clause_count == 16 || word == NULL || strlen(word) >= sizeof clause->call) wrong(part);
        strcpy(clause->call, word);
        for (int i = 0; i < NUMBERS; ++i) clause->number[i] = -1;
        while ((word = strtok_r(NULL, " ", &of_words)) != NULL) read_number(clause, word);
    }
    free(copy);
}

struct call {
    const char* name;
    const void* address;
    double bytes;
    MPI_Datatype type;
    int is_typed, count, is_wild, root;
};

static int is_first_use(const struct call* call) {
    for (int i = 0; i < use_count; ++i)
        if (uses[i].address == call->address && uses[i].call == call->name) return 0;
    if (use_count < MOST_BUFFERS) uses[use_count++] = (struct use){call->address, call->name};
    return 1;
}

/* MPI-4.1 section 5.1.13: the first integer of these constructors is their count of blocks. */
static double blocks_of(const struct call* call) {
    enum { ENOUGH = 65536 };
    static int integers[ENOUGH];
    static MPI_Aint addresses[ENOUGH];
    int integer_count, address_count, type_count, combiner;
    MPI_Datatype inner;
    if (!call->is_typed) return 0;
    PMPI_Type_get_envelope(call->type, &integer_count, &address_count, &type_count, &combiner);
    if (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_DUP || integer_count < 1 || type_count != 1 ||
        integer_count > ENOUGH || address_count > ENOUGH)
        return 0;
    PMPI_Type_get_contents(call->type, integer_count, address_count, 1, integers, addresses, &inner);
    return (double)integers[0] * call->count;
}

static int is_due(struct clause* clause, const struct call* call) {
    const double* const limit = clause->number;
    int rank;
    if (strcmp(clause->call, call->name) != 0 || call->bytes <= limit[ABOVE]) return 0;
    if (limit[MULTIPLE_OF] > 0 && (long)call->bytes % (long)limit[MULTIPLE_OF] != 0) return 0;
    if (limit[ANY] >= 0 && call->is_wild != (int)limit[ANY]) return 0;
    if (limit[ROOT] >= 0 && call->root != (int)limit[ROOT]) return 0;
    if (limit[IDLE_US] >= 0 && (now_s() - left_s) * 1e6 <= limit[IDLE_US]) return 0;
    if (limit[RANK] >= 0 && (PMPI_Comm_rank(MPI_COMM_WORLD, &rank), rank != (int)limit[RANK])) return 0;
    if (limit[FIRST] > 0 && !is_first_use(call)) return 0;
    return limit[EVERY] < 0 || ++clause->fulfilled % (long)limit[EVERY] == 0;
}

static void pay(struct call call) {
    double cost_s = 0;
    int size;
    if (call.is_typed && PMPI_Type_size(call.type, &size) == MPI_SUCCESS) call.bytes = (double)call.count * size;
    for (struct clause* clause = clauses; clause < clauses + clause_count; ++clause) {
        if (!is_due(clause, &call)) continue;
        const double* const cost = clause->number;
        cost_s += (cost[US] > 0 ? cost[US] * 1e-6 : 0) +
                  (cost[NS_PER_BYTE] > 0 ? cost[NS_PER_BYTE] * 1e-9 * call.bytes : 0) +
                  (cost[US_PER_BLOCK] > 0 ? cost[US_PER_BLOCK] * 1e-6 * blocks_of(&call) : 0);
    }
    for (const double end_s = now_s() + cost_s; cost_s > 0 && now_s() < end_s;) {}
}

static int over(int code) {
    left_s = now_s();
    return code;
}

#define CALL(name, declared, given, ...) \
    int MPI_##name declared {            \
        pay((struct call){__VA_ARGS__}); \
        return over(PMPI_##name given);  \
    }
#define MESSAGE(what, comm, wild) (comm) == MPI_COMM_WORLD ? what : "", data, 0, type, 1, n, wild, -1
#define DATA(what) what, data, 0, type, 1, n, 0, -1
#define ROOTED(what) what, data, 0, type, 1, n, 0, root
#define ALONE(what) .name = what, .root = -1

// clang-format off
CALL(Send, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm), (data, n, type, to, tag, comm), MESSAGE("send", comm, 0))
CALL(Isend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* r), (data, n, type, to, tag, comm, r), MESSAGE("send", comm, 0))
CALL(Ssend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm), (data, n, type, to, tag, comm), MESSAGE("ssend", comm, 0))
CALL(Recv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* s), (data, n, type, from, tag, comm, s), MESSAGE("receive", comm, from == MPI_ANY_SOURCE))
CALL(Irecv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* r), (data, n, type, from, tag, comm, r), MESSAGE("receive", comm, from == MPI_ANY_SOURCE))
CALL(Wait, (MPI_Request* r, MPI_Status* s), (r, s), ALONE("wait"))
CALL(Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s), ALONE("waitall"))
CALL(Test, (MPI_Request* r, int* done, MPI_Status* s), (r, done, s), ALONE("test"))
CALL(Put, (const void* data, int n, MPI_Datatype type, int to, MPI_Aint at, int m, MPI_Datatype of, MPI_Win w), (data, n, type, to, at, m, of, w), DATA("put"))
CALL(Get, (void* data, int n, MPI_Datatype type, int from, MPI_Aint at, int m, MPI_Datatype of, MPI_Win w), (data, n, type, from, at, m, of, w), DATA("get"))
CALL(Accumulate, (const void* data, int n, MPI_Datatype type, int to, MPI_Aint at, int m, MPI_Datatype of, MPI_Op op, MPI_Win w), (data, n, type, to, at, m, of, op, w), DATA("accumulate"))
CALL(Win_flush, (int to, MPI_Win w), (to, w), ALONE("flush"))
CALL(Win_flush_all, (MPI_Win w), (w), ALONE("flush"))
CALL(Win_create, (void* data, MPI_Aint n, int unit, MPI_Info i, MPI_Comm comm, MPI_Win* w), (data, n, unit, i, comm, w), ALONE("win_create"))
CALL(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made), ALONE("comm_dup"))
CALL(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank), ALONE("comm_rank"))
CALL(Barrier, (MPI_Comm comm), (comm), ALONE("barrier"))
CALL(Bcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm), ROOTED("bcast"))
CALL(Reduce, (const void* data, void* into, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm), (data, into, n, type, op, root, comm), ROOTED("reduce"))
CALL(Allreduce, (const void* data, void* into, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (data, into, n, type, op, comm), DATA("allreduce"))
CALL(Allgather, (const void* data, int m, MPI_Datatype of, void* into, int n, MPI_Datatype type, MPI_Comm comm), (data, m, of, into, n, type, comm), DATA("allgather"))
CALL(Alltoall, (const void* data, int m, MPI_Datatype of, void* into, int n, MPI_Datatype type, MPI_Comm comm), (data, m, of, into, n, type, comm), DATA("alltoall"))
CALL(Reduce_scatter_block, (const void* data, void* into, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (data, into, n, type, op, comm), DATA("reduce_scatter_block"))
