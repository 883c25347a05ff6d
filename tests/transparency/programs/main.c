// SPDX-License-Identifier: Apache-2.0
// Random MPI calls, each compared with the function of the profiling name on copies of the same buffers:
// every byte and every error code. A library that is preloaded must not change any of them.
//
//     program FAMILY SEED CALLS [SECONDS] [FIRST]
//
// CALLS 0: until SECONDS are over.  FIRST: the number of the first call, to begin where a difference was
// seen. Prints the first differences of each rank, and "calls N, wrong M".
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "families.h"

typedef struct {
    const char* name;
    void (*once)(Sequence*);
    int groups, intercommunicators, topologies;  // to make for it
} Family;

static const Family families[] = {
    {"moves", move_once, 1, 0, 0},
    {"lengths", move_lengths_once, 1, 0, 0},
    {"reductions", reduce_once, 1, 0, 0},
    {"inter-moves", move_once, 0, 1, 0},
    {"inter-lengths", move_lengths_once, 0, 1, 0},
    {"inter-reductions", reduce_once, 0, 1, 0},
    {"neighbours", meet_neighbours_once, 0, 0, 1},
};

static Sequence sequence;

// A crash names the call, and so does one that does not end.
static void crashed(int number) {
    char text[400];
    const int bytes = snprintf(
        text, sizeof text, "crashed: signal %d, %s, seed %llu, call %ld, rank %d: %s\n", number,
        sequence.family, (unsigned long long)sequence.seed, sequence.number, sequence.rank, sequence.what);
    if (write(STDOUT_FILENO, text, (size_t)bytes) < 0) _exit(99);
    signal(number, SIG_DFL);
    raise(number);
}

static void run(const Family* family, long calls) {
    if (family->groups) make_groups(&sequence);
    if (family->intercommunicators) make_intercommunicators(&sequence);
    if (family->topologies) make_topologies(&sequence);
    make_ops();
    while (next_call(&sequence, calls)) family->once(&sequence);
    free_ops();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 4) {
        fprintf(stderr, "usage: %s FAMILY SEED CALLS [SECONDS] [FIRST]\n", argv[0]);
        return 2;
    }
    sequence.family = argv[1];
    sequence.seed = strtoull(argv[2], NULL, 10);
    sequence.seconds = argc > 4 ? atof(argv[4]) : 0;
    sequence.number = argc > 5 ? atol(argv[5]) : 0;
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGTERM, SIGALRM};
    for (int i = 0; i < 6; ++i) signal(signals[i], crashed);
    const Family* family = NULL;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i)
        if (strcmp(families[i].name, argv[1]) == 0) family = &families[i];
    if (family == NULL) return 2;
    begin_sequence(&sequence, MPI_COMM_WORLD);
    const double begun = PMPI_Wtime();
    run(family, atol(argv[3]));
    const double seconds = PMPI_Wtime() - begun;
    end_sequence(&sequence);
    long wrong = 0;
    PMPI_Allreduce(&sequence.wrong, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sequence.rank == 0) printf("calls %ld, wrong %ld, seconds %.3f\n", sequence.calls, wrong, seconds);
    MPI_Finalize();
    return wrong != 0;
}
