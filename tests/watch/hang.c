// SPDX-License-Identifier: Apache-2.0
// Programs that hang, each in one way, after some iterations that go well: hang WAY [ITERATIONS]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { large = 1 << 20 };
static int rank, size;
static char* out;
static char* in;

static void pause_ms(int ms) {
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&rest, NULL);
}

static void iterate(int iterations) {
    for (int i = 0; i < iterations; ++i) {
        double mine = rank, sum = 0;
        pause_ms(1);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void barrier(void) {
    if (rank == 3)
        for (;;) pause_ms(100);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive(void) {
    if (rank == 1) MPI_Recv(in, 8, MPI_CHAR, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void cycle(void) {
    // Not MPI_Send: Intel MPI takes even 64 MiB between ranks of a node before any receive, at times.
    MPI_Ssend(out, large, MPI_CHAR, (rank + 1) % size, 5, MPI_COMM_WORLD);
    MPI_Recv(in, large, MPI_CHAR, (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_all(void) {
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Irecv(in, 8, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in + 8, 8, MPI_CHAR, 2, 6, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Send(out, 8, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    } else if (rank == 2) {
        for (;;) pause_ms(100);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void poll(void) {
    int flag = 0;
    if (rank == 0)
        while (!flag) MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (rank == 1)
        for (;;) pause_ms(100);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void mismatch(void) {
    int value = 0;
    if (rank == 2)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void last(void) {
    if (rank == 1) MPI_Recv(in, 8, MPI_CHAR, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char** words) {
    static const struct {
        const char* name;
        void (*hang)(void);
    } ways[] = {{"barrier", barrier}, {"receive", receive}, {"cycle", cycle},       {"waitall", wait_all},
                {"poll", poll},       {"last", last},       {"mismatch", mismatch}};
    const char* way = count > 1 ? words[1] : "";
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(1, large);
    in = calloc(1, large);
    iterate(count > 2 ? atoi(words[2]) : 5);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
        if (strcmp(ways[i].name, way) == 0) ways[i].hang();
    printf("rank %d is through\n", rank);
    fflush(stdout);
    return MPI_Finalize();
}
