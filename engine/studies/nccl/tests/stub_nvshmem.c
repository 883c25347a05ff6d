/* SPDX-License-Identifier: Apache-2.0
 * An NVSHMEM for tests, between processes of one machine: the heaps of all ranks are one file in shared
 * memory. Work is done on the stub driver's streams, behind the caller's back.
 *   SLOWPATH_STUB_NVSHMEM_INIT_MS=N  nvshmemx_hostlib_init_attr takes this long
 *   SLOWPATH_STUB_NVSHMEM_FAIL=CALL  that function fails
 *   SLOWPATH_STUB_NVSHMEM_WRONG=1    the last element that a rank gets is another
 *   SLOWPATH_STUB_NVSHMEM_MAJOR=N    it says that it is version N (default 3)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 8, HEAP_BYTES = 8 << 20, PATIENCE_S = 120, WITH_ID = 8, LINE = 64 };

typedef struct {
    int version;
    char name[124];
} Id;

typedef struct {
    int version;
    void* mpi;
    struct {
        int version;
        struct {
            int version;
            Id* id;
            int rank, ranks;
        } id;
        char unused[96];
    } arguments;
} Start;

typedef struct {
    atomic_int joined, arrived[1 << 16]; /* of each barrier */
    char heaps[RANKS][HEAP_BYTES];
} Shared;

typedef struct {
    enum { PUT, BARRIER, REDUCE, REDUCESCATTER, FCOLLECT, ALLTOALL, BROADCAST } what;
    float* to;
    const float* from;
    size_t count;
    int peer;
} Work;

void stub_enqueue(void* stream, void (*run)(void*), void* argument);
void stub_adopt(void* base, size_t bytes);

static Shared* shared;
static int me, all, barriers;
static size_t used = LINE;

static int fails(const char* call) {
    const char* wanted = getenv("SLOWPATH_STUB_NVSHMEM_FAIL");
    return wanted != NULL && strcmp(wanted, call) == 0;
}

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
    const char* wanted = getenv("SLOWPATH_STUB_NVSHMEM_MAJOR");
    *major = wanted == NULL ? 3 : atoi(wanted);
    *minor = 4;
    *patch = 5;
}

int nvshmemx_get_uniqueid(Id* id) {
    if (fails("nvshmemx_get_uniqueid") || id->version != (1 << 16) + 128) return 7;
    snprintf(id->name, sizeof id->name, "/slowpath-stub-nvshmem-%d", (int)getpid());
    return 0;
}

int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, Id* id, Start* start) {
    start->arguments.id.id = id;
    start->arguments.id.rank = rank;
    start->arguments.id.ranks = ranks;
    return 0;
}

static void meet(atomic_int* counter) {
    time_t begin = time(NULL);
    atomic_fetch_add(counter, 1);
    while (atomic_load(counter) < all && time(NULL) - begin < PATIENCE_S) sched_yield();
}

int nvshmemx_hostlib_init_attr(unsigned int flags, Start* start) {
    const char* init_ms = getenv("SLOWPATH_STUB_NVSHMEM_INIT_MS");
    if (fails("nvshmemx_hostlib_init_attr") || flags != WITH_ID) return 7;
    if (start->version != (1 << 16) + 144 || start->arguments.version != (1 << 16) + 128) return 8;
    me = start->arguments.id.rank;
    all = start->arguments.id.ranks;
    int descriptor = shm_open(start->arguments.id.id->name, O_CREAT | O_RDWR, 0600);
    if (all > RANKS || descriptor < 0 || ftruncate(descriptor, sizeof(Shared)) != 0) return 7;
    shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (shared == MAP_FAILED) return 7;
    stub_adopt(shared->heaps[me], HEAP_BYTES);
    meet(&shared->joined);
    if (me == 0) shm_unlink(start->arguments.id.id->name);
    if (init_ms != NULL) usleep((useconds_t)atoi(init_ms) * 1000);
    return 0;
}

void nvshmemx_hostlib_finalize(void) {
    munmap(shared, sizeof(Shared));
    shared = NULL;
}

void* nvshmem_malloc(size_t bytes) {
    size_t at = used;
    used += (bytes + LINE - 1) / LINE * LINE;
    return used > HEAP_BYTES ? NULL : shared->heaps[me] + at;
}

void nvshmem_free(void* data) {
    (void)data;
}

/* The same place in another rank's heap. */
static float* of(int rank, const float* mine) {
    return (float*)(void*)(shared->heaps[rank] + ((const char*)mine - shared->heaps[me]));
}

static void collect(const Work* w) {
    for (int rank = 0; rank < all; ++rank) {
        const float* theirs = of(rank, w->from);
        size_t block = w->count * sizeof(float), mine = (size_t)me * w->count;
        if (w->what == FCOLLECT) memcpy(w->to + (size_t)rank * w->count, theirs, block);
        if (w->what == ALLTOALL) memcpy(w->to + (size_t)rank * w->count, theirs + mine, block);
        if (w->what == BROADCAST && rank == w->peer) memcpy(w->to, theirs, block);
        if (w->what != REDUCE && w->what != REDUCESCATTER) continue;
        for (size_t i = 0; i < w->count; ++i)
            w->to[i] = (rank == 0 ? 0 : w->to[i]) + theirs[i + (w->what == REDUCESCATTER ? mine : 0)];
    }
    if (getenv("SLOWPATH_STUB_NVSHMEM_WRONG") != NULL) w->to[w->count - 1] += 1;
}

static void perform(void* argument) {
    Work* w = argument;
    if (w->what == PUT)
        memcpy(of(w->peer, w->to), w->from, w->count);
    else
        meet(&shared->arrived[barriers++]);
    if (w->what != PUT && w->what != BARRIER) {
        collect(w);
        meet(&shared->arrived[barriers++]);
    }
    free(w);
}

static int later(Work work, void* stream) {
    Work* kept = malloc(sizeof *kept);
    *kept = work;
    stub_enqueue(stream, perform, kept);
    return 0;
}

void nvshmemx_putmem_on_stream(void* to, const void* from, size_t bytes, int rank, void* stream) {
    later((Work){PUT, to, from, bytes, rank}, stream);
}

void nvshmemx_barrier_all_on_stream(void* stream) {
    later((Work){BARRIER, NULL, NULL, 0, 0}, stream);
}

int nvshmemx_float_sum_reduce_on_stream(int team, float* to, const float* from, size_t count, void* stream) {
    return team != 0 || fails("nvshmemx_float_sum_reduce_on_stream")
               ? 7
               : later((Work){REDUCE, to, from, count, 0}, stream);
}

int nvshmemx_float_sum_reducescatter_on_stream(int team, float* to, const float* from, size_t count,
                                               void* stream) {
    return team != 0 ? 7 : later((Work){REDUCESCATTER, to, from, count, 0}, stream);
}

int nvshmemx_float_fcollect_on_stream(int team, float* to, const float* from, size_t count, void* stream) {
    return team != 0 ? 7 : later((Work){FCOLLECT, to, from, count, 0}, stream);
}

int nvshmemx_float_alltoall_on_stream(int team, float* to, const float* from, size_t count, void* stream) {
    return team != 0 ? 7 : later((Work){ALLTOALL, to, from, count, 0}, stream);
}

int nvshmemx_float_broadcast_on_stream(int team, float* to, const float* from, size_t count, int root,
                                       void* stream) {
    return team != 0 ? 7 : later((Work){BROADCAST, to, from, count, root}, stream);
}
