// SPDX-License-Identifier: Apache-2.0
// Random MPI calls, each compared with the function of the profiling name on copies of the same buffers:
// every byte and every error code. A library that is preloaded must not change any of them.
//
//     program FAMILY SEED CALLS [SECONDS] [FIRST]
//
// CALLS 0: until SECONDS are over.  FIRST: the number of the first call, to begin where a difference was
// seen. Prints the first differences of each rank, and "calls N, wrong M".
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "families.h"

// Groups to make, and how MPI is begun.
enum {
    plain = 1,
    between_groups = 2,
    topologies = 4,
    windows = 8,
    threads = 16,
    session = 32,
    children = 64,
    many = 128
};

typedef struct {
    const char* name;
    void (*once)(Sequence*);
    int needs;
} Family;

static const Family families[] = {
    {"moves", move_once, plain},
    {"lengths", move_lengths_once, plain},
    {"reductions", reduce_once, plain},
    {"inter-moves", move_once, between_groups},
    {"inter-lengths", move_lengths_once, between_groups},
    {"inter-reductions", reduce_once, between_groups},
    {"neighbours", meet_neighbours_once, topologies},
    {"messages", exchange_once, plain},
    {"one-sided", access_once, windows},
    {"errors", fail_once, plain},
    {"handles", handle_once, plain},
    {"communicators", handle_once, plain | many},
    {"threads", move_once, plain | threads},
    {"thread-messages", exchange_once, plain | threads},
    {"sessions", move_once, plain | session},
    {"session-reductions", reduce_once, plain | session},
    {"spawn", move_once, plain | children},
    {"spawn-reductions", reduce_once, plain | children},
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

static void run(Sequence* s, const Family* family, long calls) {
    if (family->needs & many) {
        const int count = use_up_communicators(s);
        if (s->rank == 0) printf("communicators %d\n", count);
    }
    if (family->needs & plain) make_groups(s);
    if (family->needs & between_groups) make_intercommunicators(s);
    if (family->needs & topologies) make_topologies(s);
    if (family->needs & windows) open_windows(s);
    while (next_call(s, calls)) family->once(s);
    if (family->needs & windows) close_windows(s);
}

enum { threads_of_a_process = 3 };

typedef struct {
    Sequence sequence;
    const Family* family;
    long calls;
} Thread;

static void* run_thread(void* argument) {
    Thread* const thread = argument;
    run(&thread->sequence, thread->family, thread->calls);
    return NULL;
}

static void run_threads(const Family* family, long calls) {
    static Thread all[threads_of_a_process];
    pthread_t made[threads_of_a_process];
    MPI_Comm comms[threads_of_a_process];
    for (int i = 0; i < threads_of_a_process; ++i) {
        MPI_Comm_dup(sequence.world, &comms[i]);
        all[i] = (Thread){.sequence = sequence, .family = family, .calls = calls};
        all[i].sequence.seed = sequence.seed * 100 + (uint64_t)i;
        all[i].sequence.calls = 0;
        begin_sequence(&all[i].sequence, comms[i]);
    }
    for (int i = 0; i < threads_of_a_process; ++i) pthread_create(&made[i], NULL, run_thread, &all[i]);
    for (int i = 0; i < threads_of_a_process; ++i) {
        pthread_join(made[i], NULL);
        sequence.calls += all[i].sequence.calls;
        sequence.wrong += all[i].sequence.wrong;
        end_sequence(&all[i].sequence);
        MPI_Comm_free(&comms[i]);
    }
}

// With as many children as there are ranks, in one communicator.
static MPI_Comm with_children(char** argv) {
    MPI_Comm parent, inter, merged;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        if (MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                           MPI_ERRCODES_IGNORE))
            return MPI_COMM_NULL;
        need(MPI_Intercomm_merge(inter, 0, &merged), "MPI_Intercomm_merge with children");
    } else {
        inter = parent;
        need(MPI_Intercomm_merge(inter, 1, &merged), "MPI_Intercomm_merge with the parents");
    }
    MPI_Comm_disconnect(&inter);
    return merged;
}

#if HAS_MPI_4
static MPI_Session opened;

static MPI_Comm of_session(void) {
    MPI_Group group;
    MPI_Comm made;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &opened);
    MPI_Group_from_session_pset(opened, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "transparency", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    MPI_Group_free(&group);
    return made;
}
#endif

static MPI_Comm begun(const Family* family, int* argc, char*** argv) {
    int provided;
#if HAS_MPI_4
    if (family->needs & session) return of_session();
#endif
    MPI_Init_thread(argc, argv, family->needs & threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (family->needs & children) return with_children(*argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_COMM_WORLD;
}

static void ended(const Family* family, MPI_Comm world) {
#if HAS_MPI_4
    if (family->needs & session) {
        MPI_Comm_free(&world);
        MPI_Session_finalize(&opened);
        return;
    }
#endif
    if (family->needs & children) MPI_Comm_disconnect(&world);
    MPI_Finalize();
}

int main(int argc, char** argv) {
    const Family* family = NULL;
    for (size_t i = 0; argc >= 4 && i < sizeof families / sizeof families[0]; ++i)
        if (strcmp(families[i].name, argv[1]) == 0) family = &families[i];
    if (family == NULL) {
        fprintf(stderr, "usage: %s FAMILY SEED CALLS [SECONDS] [FIRST]\n", argv[0]);
        return 2;
    }
    sequence.family = argv[1];
    sequence.seed = strtoull(argv[2], NULL, 10);
    sequence.seconds = argc > 4 ? atof(argv[4]) : 0;
    sequence.number = argc > 5 ? atol(argv[5]) : 0;
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGTERM, SIGALRM};
    for (int i = 0; i < 6; ++i) signal(signals[i], crashed);
    const long calls = atol(argv[3]);
    const MPI_Comm world = begun(family, &argc, &argv);
    if (world == MPI_COMM_NULL) {
        printf("calls 0, wrong 0: not possible here\n");
        return 0;
    }
    begin_sequence(&sequence, world);
    make_ops();
    // Of the process, so of all threads; sessions have none.
    static char buffered[1 << 20];
    if (!(family->needs & session)) MPI_Buffer_attach(buffered, sizeof buffered);
    const double from = PMPI_Wtime();
    if (family->needs & threads)
        run_threads(family, calls);
    else
        run(&sequence, family, calls);
    const double seconds = PMPI_Wtime() - from;
    free_ops();
    void* detached;
    int bytes;
    if (!(family->needs & session)) MPI_Buffer_detach(&detached, &bytes);
    end_sequence(&sequence);
    long wrong = 0;
    PMPI_Allreduce(&sequence.wrong, &wrong, 1, MPI_LONG, MPI_SUM, world);
    if (sequence.rank == 0) printf("calls %ld, wrong %ld, seconds %.3f\n", sequence.calls, wrong, seconds);
    fflush(stdout);
    ended(family, world);
    return wrong != 0;
}
