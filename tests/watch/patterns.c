// SPDX-License-Identifier: Apache-2.0
// Programs with one pattern each that a program could do without, and their corrected twins.
//
//     patterns PATTERN faulty|clean ITERATIONS COMPUTE_US [SIZE]
//
// SIZE: of `unexpected` its messages, of `late` and `new-buffers` the bytes of each.
// Prints the seconds of the loop. What is computed between is on each rank's own core, and the same on both twins.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { elements = 512, numbers = 16, window_bytes = 1 << 16, most = 20000, each_count = 256, chained = 1 << 16 };
enum { most_ranks = 64 };

static int rank, size, is_faulty, compute_us, many = 700, bytes = 1 << 20;
static double values[chained], taken[chained], halo[elements];

static void compute(void) {
    const double until = MPI_Wtime() + compute_us * 1e-6;
    static int turn;
    turn++;
    for (int i = 0; i < chained; i++) values[i] = turn + i;  // no message is sent again as it was
    while (MPI_Wtime() < until)
        for (int i = 0; i < 8; i++) values[i] += 1e-9;
}

static void small_messages(void) {
    if (rank == 0) {
        if (is_faulty)
            for (int i = 0; i < elements; i++) MPI_Send(&values[i], 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Send(values, elements, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        if (is_faulty)
            for (int i = 0; i < elements; i++)
                MPI_Recv(&taken[i], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Recv(taken, elements, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, halo, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void small_nonblocking(void) {
    MPI_Request requests[2 * elements];
    const int right = (rank + 1) % size, left = (rank + size - 1) % size, parts = is_faulty ? elements : 1;
    const int count = elements / parts;
    for (int i = 0; i < parts; i++) {
        MPI_Irecv(&taken[i * count], count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(&values[i * count], count, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * parts, requests, MPI_STATUSES_IGNORE);
}

static void small_reductions(void) {
    if (is_faulty)
        for (int i = 0; i < numbers; i++)
            MPI_Allreduce(&values[i], &taken[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Allreduce(values, taken, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Win win = MPI_WIN_NULL;

static void window(void) {
    static double* base;
    if (win == MPI_WIN_NULL) MPI_Win_allocate(window_bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Put(values, 8, MPI_DOUBLE, (rank + 1) % size, 0, 8, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    if (is_faulty) MPI_Win_free(&win);
}

static void barriers(void) {
    if (is_faulty) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(values, taken, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (is_faulty) MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(void) {
    if (!is_faulty) {
        MPI_Bcast(values, elements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        for (int i = 1; i < size; i++) MPI_Send(values, elements, MPI_DOUBLE, i, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(values, elements, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

// Long: a rank that has just got its core back needs 3 to 5 us from the receive to the send, the time of a short send.
static void chain(void) {
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (!is_faulty) {
        MPI_Sendrecv(values, chained, MPI_DOUBLE, right, 1, taken, chained, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        return;
    }
    if (rank == 0) MPI_Send(values, chained, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    MPI_Recv(taken, chained, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(values, chained, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
}

static void unexpected(void) {
    static double each[most][each_count];
    if (rank == 0) {
        for (int i = 0; i < many; i++) MPI_Send(each[i], each_count, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (rank == 1 && !is_faulty)
        for (int i = 0; i < many; i++) MPI_Recv(each[i], each_count, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && is_faulty)
        for (int i = many - 1; i >= 0; i--)
            MPI_Recv(each[i], each_count, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void leak(void) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Allreduce(values, taken, 300, MPI_DOUBLE, MPI_SUM, own);
    if (!is_faulty) MPI_Comm_free(&own);
}

// Requests whose messages arrive and that nobody completes.
static void requests(void) {
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < 8; i++) {
        MPI_Request request;
        MPI_Isend(&values[i], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(&taken[i], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!is_faulty) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static char* old_buffer(int which) {
    static char* kept[most_ranks + 1];
    if (kept[which] == NULL) memset(kept[which] = malloc((size_t)bytes), 1, (size_t)bytes);
    return kept[which];
}

// What each rank computes does not need what it receives.
static void late(void) {
    const int other = rank ^ 1;
    if (other < size && rank % 2 == 0) {
        MPI_Send(old_buffer(0), bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        compute();
    } else if (other < size) {
        if (is_faulty) compute();
        MPI_Recv(old_buffer(0), bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!is_faulty) compute();
    }
    MPI_Allreduce(values, taken, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void new_buffers(void) {
    char* const sent = is_faulty ? malloc((size_t)bytes) : old_buffer(0);
    char* const received = is_faulty ? malloc((size_t)bytes) : old_buffer(1);
    memset(sent, rank, (size_t)bytes);
    MPI_Sendrecv(sent, bytes, MPI_CHAR, (rank + 1) % size, 1, received, bytes, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    values[0] += received[bytes / 2];
    if (is_faulty) free(sent), free(received);
}

// Each pair's first rank reads what the other one has exposed, while that one computes without calling MPI.
static void passive(void) {
    static double exposed[elements];
    const int other = rank ^ 1;
    if (win == MPI_WIN_NULL)
        MPI_Win_create(exposed, sizeof exposed, sizeof exposed[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (other < size && rank % 2 == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
        MPI_Get_accumulate(halo, elements, MPI_DOUBLE, taken, elements, MPI_DOUBLE, other, 0, elements, MPI_DOUBLE,
                           MPI_SUM, win);
        MPI_Win_unlock(other, win);
        compute();
    } else if (other < size) {
        const double until = MPI_Wtime() + compute_us * 1e-6;
        while (MPI_Wtime() < until) {
            for (int i = 0; i < 8; i++) values[i] += 1e-9;
            int flag;
            if (!is_faulty) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, values, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// A short message to a rank that computes before it receives.
static void synchronous(void) {
    const int other = rank ^ 1;
    if (other < size && rank % 2 == 0) {
        (is_faulty ? MPI_Ssend : MPI_Send)(values, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
        compute();
    } else if (other < size) {
        compute();
        MPI_Recv(taken, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, values, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// A message for every second rank, which computes in small pieces and looks for it after each; or rarely. The sender
// computes for a part of that time alone.
static void polls(void) {
    const int other = rank ^ 1;
    const double until = MPI_Wtime() + compute_us * 0.4e-6;
    int is_there = 0;
    if (other < size && rank % 2 == 0) {
        while (MPI_Wtime() < until) values[0] += 1e-9;
        MPI_Send(values, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
    } else if (other < size) {
        MPI_Request request;
        MPI_Irecv(taken, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &request);
        for (int piece = 0; piece < compute_us; piece++) {
            for (volatile int i = 0; i < 2000; i++) values[0] += 1e-9;
            if (!is_there && (is_faulty || piece % 500 == 499)) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, values, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// Parts put one by one, each in an epoch of its own.
static void epochs(void) {
    static double* base;
    if (win == MPI_WIN_NULL) MPI_Win_allocate(window_bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0) {
        if (!is_faulty) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int i = 0; i < numbers; i++) {
            if (is_faulty) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Put(&values[each_count * i], each_count, MPI_DOUBLE, 1, each_count * i, each_count, MPI_DOUBLE, win);
            if (is_faulty) MPI_Win_unlock(1, win);
        }
        if (!is_faulty) MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Each MPI_Waitany looks at all requests again.
static void any_request(void) {
    static MPI_Request pending[2 * elements];
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < elements; i++)
        MPI_Irecv(&taken[each_count * (i % 64)], each_count, MPI_DOUBLE, left, i, MPI_COMM_WORLD,
                  &pending[i]);
    for (int i = 0; i < elements; i++)
        MPI_Isend(&values[each_count * (i % 64)], each_count, MPI_DOUBLE, right, i, MPI_COMM_WORLD,
                  &pending[elements + i]);
    for (int i = 0, which; is_faulty && i < 2 * elements; i++)
        MPI_Waitany(2 * elements, pending, &which, MPI_STATUS_IGNORE);
    if (!is_faulty) MPI_Waitall(2 * elements, pending, MPI_STATUSES_IGNORE);
}

// The rank's own part of a transpose, most of it, goes through MPI; or it is used where it is.
static void own_part(void) {
    int counts[most_ranks], places[most_ranks];
    for (int i = 0; i < size; i++) counts[i] = 64, places[i] = i == rank ? 0 : chained / 2 + 64 * i;
    counts[rank] = is_faulty ? chained / 2 : 0;
    MPI_Alltoallv(values, counts, places, MPI_DOUBLE, taken, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void asks_again(void) {
    int mine = rank;
    for (int i = 0; i < most; i++) {
        if (is_faulty) MPI_Comm_rank(MPI_COMM_WORLD, &mine);
        values[i] += mine;
    }
    MPI_Allreduce(MPI_IN_PLACE, halo, 300, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

// Each rank's count, which never changes, is gathered again and again, or once.
static void counts(void) {
    static int every[most_ranks];
    const int own = elements + rank;
    if (is_faulty || every[0] == 0) MPI_Allgather(&own, 1, MPI_INT, every, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(values, taken, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void text(void) {
    enum { line = 24 };
    static char lines[most * line], received[most * line];
    const int other = rank ^ 1;
    if (is_faulty) {
        for (int i = 0; i < most; i++) snprintf(&lines[line * i], line, "%23.16e", values[i] + i / 7.0);
        MPI_Sendrecv(lines, most * line, MPI_CHAR, other, 1, received, most * line, MPI_CHAR, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else {
        MPI_Sendrecv(values, most, MPI_DOUBLE, other, 1, taken, most, MPI_DOUBLE, other, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } patterns[] = {
        {"small-messages", small_messages}, {"small-nonblocking", small_nonblocking},
        {"small-reductions", small_reductions}, {"window", window}, {"barriers", barriers},
        {"broadcast", broadcast}, {"chain", chain}, {"unexpected", unexpected}, {"leak", leak},
        {"late", late}, {"new-buffers", new_buffers},
        {"passive", passive}, {"synchronous", synchronous}, {"polls", polls},
        {"requests", requests}, {"epochs", epochs}, {"any-request", any_request}, {"own-part", own_part},
        {"asks-again", asks_again}, {"counts", counts}, {"text", text},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5 || argc > 6 || size < 2 || size > most_ranks) {
        fprintf(stderr, "patterns: give PATTERN, faulty or clean, ITERATIONS, COMPUTE_US, [SIZE], on 2 to 64 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    is_faulty = strcmp(argv[2], "faulty") == 0;
    compute_us = atoi(argv[4]);
    if (argc == 6) many = bytes = atoi(argv[5]);
    if (many > most) many = most;
    int is_known = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(argv[1], patterns[i].name) != 0) continue;
        is_known = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int n = atoi(argv[3]); n > 0; n--) {
            compute();
            patterns[i].run();
        }
        if (rank == 0) printf("loop %.6f s\n", MPI_Wtime() - start);
    }
    if (!is_known) {
        fprintf(stderr, "patterns: %s is no pattern; see the list in main\n", argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (win != MPI_WIN_NULL) MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
