// SPDX-License-Identifier: Apache-2.0
// Plants random arrival patterns and writes what truly happened, by its own clock: when each message was begun, its
// receive posted, its wait entered. tests/support/watch_truth.py compares this with what a watch says.
//
//     truth FILE SEED ROUNDS DELAY_US
//
// All ranks draw the same plan. FILE is one table for all ranks of a node, shared by mmap.
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most_messages = 200000, most_collectives = 20000, most_ranks = 16, large_bytes = 1 << 20, most_at_once = 16 };
// Tags from here on are of a communicator of their own: there, receives are posted for any source or any tag.
enum { tags_of_any_source = 20, tags_of_any_tag = 30, most_tags = 40 };

struct Message {
    int64_t is_there, source, destination, tag, bytes, order, is_synchronous, is_blocking;
    int64_t began_ns, left_ns;                   // the call that sends: entry, return
    int64_t posted_ns, entered_ns, returned_ns;  // entry of the receive or its post; entry and return of its wait
};
struct Table {
    struct Message messages[most_messages];
    int64_t collectives[most_collectives][most_ranks];  // entry of each rank; 0: none
};

static struct Table* table;
static int rank, size, message_count, collective_count, delay_us;
static uint64_t plan_state, own_state;
static char *given, *taken;
static MPI_Comm any_source_comm, any_tag_comm;

static MPI_Comm comm_of(int64_t tag) {
    return tag < tags_of_any_source ? MPI_COMM_WORLD : tag < tags_of_any_tag ? any_source_comm : any_tag_comm;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint64_t next(uint64_t* state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int draw(int below) { return (int)(next(&plan_state) % (uint64_t)below); }

static void compute(int us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000L};
    if (us > 0) nanosleep(&t, NULL);
}

// Every rank computes none, a little or long, on its own.
static void compute_somehow(void) {
    int how = (int)(next(&own_state) % 3);
    compute(how == 0 ? 0 : how == 1 ? delay_us / 4 : delay_us);
}

// The n-th message from one rank to another with one tag.
static int64_t orders[most_ranks][most_ranks][most_tags];

static int plan_message(int source, int destination, int tag, int bytes, int is_synchronous) {
    int id = message_count++;
    if (id >= most_messages) MPI_Abort(MPI_COMM_WORLD, 3);
    int64_t order = orders[source][destination][tag]++;
    if (rank == source) {
        struct Message* m = &table->messages[id];
        m->source = source;
        m->destination = destination;
        m->tag = tag;
        m->bytes = bytes;
        m->order = order;
        m->is_synchronous = is_synchronous;
        m->is_there = 1;
    }
    return id;
}

static void send(int id) {
    struct Message* m = &table->messages[id];
    memcpy(given, &id, sizeof id);
    m->is_blocking = 1;
    m->began_ns = now_ns();
    if (m->is_synchronous)
        MPI_Ssend(given, (int)m->bytes, MPI_BYTE, (int)m->destination, (int)m->tag, comm_of(m->tag));
    else
        MPI_Send(given, (int)m->bytes, MPI_BYTE, (int)m->destination, (int)m->tag, comm_of(m->tag));
    m->left_ns = now_ns();
}

static void note(const char* buffer, int64_t posted, int64_t entered, int64_t returned) {
    int id;
    memcpy(&id, buffer, sizeof id);
    struct Message* m = &table->messages[id];
    m->posted_ns = posted;
    m->entered_ns = entered;
    m->returned_ns = returned;
}

static void receive(int source, int tag, MPI_Comm comm) {
    int64_t begin = now_ns();
    MPI_Recv(taken, large_bytes, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE);
    note(taken, begin, begin, now_ns());
}

static void one(int is_synchronous, int is_large) {
    int from = draw(size), to = (from + 1 + draw(size - 1)) % size;
    int bytes = is_large ? large_bytes - draw(1000) : 4 + draw(500);
    int by_any_tag = draw(2);
    int tag = draw(4) + (by_any_tag ? tags_of_any_tag : 0);
    int id = plan_message(from, to, tag, bytes, is_synchronous);
    if (rank == from || rank == to) compute_somehow();
    if (rank == from) send(id);
    if (rank == to) receive(from, by_any_tag ? MPI_ANY_TAG : tag, by_any_tag ? any_tag_comm : MPI_COMM_WORLD);
}

// Many short messages, received in the opposite order of their tags.
static void flood(void) {
    int from = draw(size), to = (from + 1 + draw(size - 1)) % size, count = 2 + draw(most_at_once - 2);
    int ids[most_at_once];
    for (int i = 0; i < count; ++i) ids[i] = plan_message(from, to, i, 4 + draw(200), 0);
    if (rank == from || rank == to) compute_somehow();
    for (int i = 0; rank == from && i < count; ++i) send(ids[i]);
    for (int i = count; rank == to && i-- > 0;) receive(from, i, MPI_COMM_WORLD);
}

static void any_source(int by_requests) {
    int to = draw(size), count = 0, ids[most_ranks];
    for (int from = 0; from < size; ++from)
        if (from != to) ids[count++] = plan_message(from, to, tags_of_any_source + draw(4), 4 + draw(300), 0);
    compute_somehow();
    int mine = rank < to ? rank : rank - 1;
    if (rank != to) return send(ids[mine]);
    if (!by_requests) {
        for (int i = 0; i < count; ++i) receive(MPI_ANY_SOURCE, MPI_ANY_TAG, any_source_comm);
        return;
    }
    MPI_Request requests[most_ranks];
    int64_t posted[most_ranks];
    for (int i = 0; i < count; ++i) {
        posted[i] = now_ns();
        MPI_Irecv(taken + i * 1024, 1024, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, any_source_comm, &requests[i]);
    }
    for (int i = 0; i < count; ++i) {
        int index;
        int64_t entered = now_ns();
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        note(taken + index * 1024, posted[index], entered, now_ns());
    }
}

// Around the ring, by requests: the wait begins after some computing.
static void ring_by_requests(void) {
    int tag = draw(4), bytes = 4 + draw(300), ids[most_ranks];
    for (int from = 0; from < size; ++from) ids[from] = plan_message(from, (from + 1) % size, tag, bytes, 0);
    compute_somehow();
    MPI_Request requests[2];
    int64_t posted = now_ns();
    MPI_Irecv(taken, large_bytes, MPI_BYTE, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &requests[0]);
    compute_somehow();
    struct Message* m = &table->messages[ids[rank]];
    memcpy(given, &ids[rank], sizeof(int));
    m->began_ns = now_ns();
    MPI_Isend(given, bytes, MPI_BYTE, (rank + 1) % size, tag, MPI_COMM_WORLD, &requests[1]);
    m->left_ns = now_ns();
    compute_somehow();
    int64_t entered = now_ns();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    note(taken, posted, entered, now_ns());
}

static void ring(void) {
    int tag = draw(4), bytes = 4 + draw(300), ids[most_ranks];
    for (int from = 0; from < size; ++from) ids[from] = plan_message(from, (from + 1) % size, tag, bytes, 0);
    compute_somehow();
    struct Message* m = &table->messages[ids[rank]];
    memcpy(given, &ids[rank], sizeof(int));
    int64_t begin = m->began_ns = now_ns();
    MPI_Sendrecv(given, bytes, MPI_BYTE, (rank + 1) % size, tag, taken, large_bytes, MPI_BYTE,
                 (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int64_t end = now_ns();
    note(taken, begin, begin, end);
}

static void collective(int is_barrier) {
    int n = collective_count++;
    if (n >= most_collectives) MPI_Abort(MPI_COMM_WORLD, 3);
    compute_somehow();
    table->collectives[n][rank] = now_ns();
    double mine = rank, all;
    if (is_barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5 || size < 2 || size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *table) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (table == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &any_source_comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &any_tag_comm);
    plan_state = strtoull(argv[2], NULL, 10);
    own_state = plan_state * 1000 + (uint64_t)rank;
    int rounds = atoi(argv[3]);
    delay_us = atoi(argv[4]);
    given = calloc(1, large_bytes);
    taken = calloc(1, large_bytes);
    for (int round = 0; round < rounds; ++round) {
        switch (draw(10)) {
            case 0:
            case 1: one(0, 0); break;
            case 2: one(1, 0); break;
            case 3: one(0, 1); break;
            case 4: flood(); break;
            case 5: any_source(0); break;
            case 6: any_source(1); break;
            case 7: ring_by_requests(); break;
            case 8: ring(); break;
            case 9: collective(draw(2)); break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
