// SPDX-License-Identifier: Apache-2.0
// Rank 0 sleeps 16 ms and sends, 15 times; rank 1 waits for it in one WAY: blocks, tests, probes, testsome, places (two
// of them in turn), barrier (a nonblocking one). Beside other programs a rank that computes may lose its processor just
// when it sends, for some ms; one that slept has it, and 16 ms are more than that.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { rounds = 15 };
static const struct timespec step = {.tv_nsec = 16000000};
static double message[64], other[64];

static void wait_for(const char* way) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int done = 0, also = 0, index, completed = 0;
    if (strcmp(way, "blocks") == 0) {
        MPI_Recv(message, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (strcmp(way, "probes") == 0) {
        while (!done) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
        MPI_Recv(message, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (strcmp(way, "barrier") == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    else
        MPI_Irecv(message, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    if (strcmp(way, "places") == 0) {
        MPI_Irecv(other, 64, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[1]);
        while (!done || !also) {
            if (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
            if (!also) MPI_Test(&requests[1], &also, MPI_STATUS_IGNORE);
        }
    } else if (strcmp(way, "testsome") == 0) {
        while (!completed) MPI_Testsome(1, requests, &completed, &index, MPI_STATUSES_IGNORE);
    } else {
        while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    if (argc != 2) return fprintf(stderr, "polls WAY\n"), 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; ++round) {
        if (rank == 1) wait_for(argv[1]);
        if (rank != 0) continue;
        nanosleep(&step, NULL);
        if (strcmp(argv[1], "barrier") == 0) {
            MPI_Request request;
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Send(message, 64, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        if (strcmp(argv[1], "places") == 0) MPI_Send(other, 64, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
