/* SPDX-License-Identifier: Apache-2.0
 * What NCCL does with a profiler plugin, without NCCL: it opens the library, takes the object of one version of the
 * interface, and reports calls whose times are planted. The structures are written down here once more, so that a
 * mistake in the plugin's is seen.
 *
 *   nccl_host PLUGIN VERSION RANK RANKS CALLS THREADS HOW
 *
 * Each thread has a communicator (id 1000 + thread) and a second thread that stands for NCCL's proxy. Even calls are an
 * AllReduce of 1 Mi float32, odd ones an AllGather of 4 Ki of them, every tenth a Send instead. Kernels of rank 1 take
 * 1 ms, those of others begin 2 ms earlier. HOW: finalize; exit, without it; kill, by SIGKILL after 1.5 s; fork, where
 * a child ends first; open, where no kernel ever ends; twice, where every handle is stopped twice.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GROUP = 1, COLL = 2, P2P = 4, PROXY_OP = 8, KERNEL = 64, GROUP_API = 256, COLL_API = 512, P2P_API = 1024 };
enum { KERNEL_STOP = 22, CHANNELS = 3 };

/* Of versions 1 to 3 the name and the id come first. */
#define HEAD(kind) kind type; void* parent; int rank
#define NAMED const char* name; uint64_t id
#define WORDS uint64_t seq; const char* func; const void* send; void* recv; size_t count; int root; const char* datatype
#define WORDS_P2P const char* func; void* buff; const char* datatype; size_t count; int peer
#define WAY uint8_t channels, warps; const char *algo, *proto
struct proxy { pid_t pid; uint8_t channel; int peer, steps, chunk, send; };
struct kernel { uint8_t channel; uint64_t timer; };

typedef struct {
    HEAD(uint8_t);
    union {
        struct {
            NAMED; uint64_t seq; uint8_t func; const void* send; void* recv; size_t count; int root; uint8_t datatype;
            uint32_t op; size_t traffic; uint8_t channels, warps, algo, proto; int collnet, nvls;
        } coll;
        struct { NAMED; uint8_t func; void* buff; uint8_t datatype; size_t count; int peer; } p2p;
        struct proxy proxy;
    };
} event1;
typedef struct {
    HEAD(uint8_t);
    union {
        struct { NAMED; WORDS; size_t traffic; WAY; } coll;
        struct { NAMED; WORDS_P2P; } p2p;
        struct proxy proxy;
    };
} event2;
typedef struct {
    HEAD(uint8_t);
    union { struct { NAMED; WORDS; WAY; } coll; struct { NAMED; WORDS_P2P; } p2p; struct proxy proxy; };
} event3;
typedef struct {
    HEAD(uint8_t);
    union {
        struct { WORDS; WAY; } coll;
        struct { WORDS_P2P; uint8_t channels; } p2p;
        struct proxy proxy;
        struct kernel kernel;
    };
} event4;
typedef struct {
    HEAD(uint64_t);
    union {
        struct { WORDS; WAY; void* group; } coll;
        struct { WORDS_P2P; uint8_t channels; void* group; } p2p;
        struct proxy proxy;
        struct kernel kernel;
        struct { const char* func; size_t count; const char* datatype; int root; void* stream; bool captured; } coll_api;
        struct { const char* func; size_t count; const char* datatype; void* stream; bool captured; } p2p_api;
    };
} event5;

/* Offsets as NCCL's own headers have them on a 64-bit Linux. */
#define AT(version, field, offset) _Static_assert(__builtin_offsetof(event##version, field) == (offset), #field)
AT(1, coll.seq, 40); AT(1, coll.func, 48); AT(1, coll.count, 72); AT(1, coll.datatype, 84); AT(1, coll.channels, 104);
AT(2, coll.func, 48); AT(2, coll.datatype, 88); AT(2, coll.channels, 104); AT(2, coll.algo, 112); AT(2, p2p.count, 64);
AT(3, coll.channels, 96); AT(3, coll.algo, 104); AT(4, coll.func, 32); AT(4, coll.proto, 96); AT(4, p2p.peer, 56);
AT(5, coll.func, 32); AT(5, coll.proto, 96); AT(5, kernel.timer, 32); AT(5, coll_api.datatype, 40);

typedef union { size_t bytes; uint64_t timer; void* room[2]; } arguments;
typedef struct {
    const char* name;
    void* init;
    int (*start)(void* context, void** handle, void* event);
    int (*stop)(void* handle);
    int (*record)(void* handle, int state, arguments* more);
    int (*finalize)(void* context);
} plugin;

static const plugin* the;
static int version, rank, ranks, calls, mask;
static const char* how;

typedef struct {
    int number;
    void* context;
    void** tasks;
    atomic_int ready;
} communicator;

static int is_send(int call) { return call % 10 == 9; }
static int is_even(int call) { return call % 2 == 0; }

static void* start(communicator* one, void* event) {
    void* handle = (void*)0xdead;
    if (the->start(one->context, &handle, event) != 0 || handle == (void*)0xdead) abort();
    return handle;
}

static void stop(void* handle) {
    if (handle == NULL) return;
    if (the->stop(handle) != 0) abort();
    if (strcmp(how, "twice") == 0) the->stop(handle);
}

static void* start_coll(communicator* one, int call, void* api) {
    const char* func = is_even(call) ? "AllReduce" : "AllGather";
    const size_t count = is_even(call) ? 1 << 20 : 4096;
#define COMMON(e) (e).type = COLL; (e).rank = rank; (e).coll.seq = (uint64_t)call; (e).coll.count = count; \
    (e).coll.channels = CHANNELS; (e).coll.warps = 16
#define NAMES(e) (e).coll.func = func; (e).coll.datatype = "ncclFloat32"; (e).coll.algo = "RING"; \
    (e).coll.proto = "SIMPLE"
#define IDENTITY(e, part) (e).part.name = "pair"; (e).part.id = 1000 + (uint64_t)one->number
    if (version == 1) {
        event1 e = {0};
        COMMON(e); IDENTITY(e, coll);
        e.coll.func = is_even(call) ? 4 : 2;
        e.coll.datatype = 7; e.coll.algo = 1; e.coll.proto = 2;
        return start(one, &e);
    }
    if (version == 2) { event2 e = {0}; COMMON(e); NAMES(e); IDENTITY(e, coll); return start(one, &e); }
    if (version == 3) { event3 e = {0}; COMMON(e); NAMES(e); IDENTITY(e, coll); return start(one, &e); }
    if (version == 4) { event4 e = {0}; COMMON(e); NAMES(e); return start(one, &e); }
    event5 e = {0};
    COMMON(e); NAMES(e);
    e.parent = api;
    if (!is_even(call)) { e.coll.datatype = "ncclInt8"; e.coll.count *= 4; } /* as NCCL does */
    return start(one, &e);
}

static void* start_send(communicator* one, void* api) {
#define MESSAGE(e) (e).type = P2P; (e).rank = rank; (e).p2p.count = 500; (e).p2p.peer = (rank + 1) % ranks
#define P2P_NAMES(e) (e).p2p.func = "Send"; (e).p2p.datatype = "ncclBfloat16"
    if (version == 1) {
        event1 e = {0};
        MESSAGE(e); IDENTITY(e, p2p);
        e.p2p.func = 6; e.p2p.datatype = 9;
        return start(one, &e);
    }
    if (version == 2) { event2 e = {0}; MESSAGE(e); P2P_NAMES(e); IDENTITY(e, p2p); return start(one, &e); }
    if (version == 3) { event3 e = {0}; MESSAGE(e); P2P_NAMES(e); IDENTITY(e, p2p); return start(one, &e); }
    if (version == 4) { event4 e = {0}; MESSAGE(e); P2P_NAMES(e); e.p2p.channels = CHANNELS; return start(one, &e); }
    event5 e = {0};
    MESSAGE(e); P2P_NAMES(e);
    e.p2p.channels = CHANNELS;
    e.parent = api;
    return start(one, &e);
}

static void* start_api(communicator* one, int call) {
    event5 e = {0};
    e.type = is_send(call) ? P2P_API : COLL_API;
    if (is_send(call)) {
        e.p2p_api.func = "Send"; e.p2p_api.count = 500; e.p2p_api.datatype = "ncclBfloat16";
    } else {
        e.coll_api.func = is_even(call) ? "AllReduce" : "AllGather";
        e.coll_api.count = is_even(call) ? 1 << 20 : 4096;
        e.coll_api.datatype = "ncclFloat32";
    }
    return start(one, &e);
}

static void* start_group(communicator* one) {
    event5 e = {0}; /* whose kind lies where an older one's does, on a little-endian machine */
    e.type = GROUP;
    return start(one, &e);
}

static void* start_channel(communicator* one, void* task, int channel, uint64_t timer) {
    if (version < 3) {
        event1 e = {0};
        e.type = PROXY_OP; e.parent = task; e.rank = rank; e.proxy.pid = getpid(); e.proxy.channel = (uint8_t)channel;
        event2 f = {0};
        f.type = PROXY_OP; f.parent = task; f.rank = rank; f.proxy.pid = getpid(); f.proxy.channel = (uint8_t)channel;
        return version == 1 ? start(one, &e) : start(one, &f);
    }
    event5 e = {0};
    event4 f = {0};
    e.type = f.type = KERNEL; e.parent = f.parent = task;
    e.kernel.channel = f.kernel.channel = (uint8_t)channel;
    if (version >= 4) e.kernel.timer = f.kernel.timer = timer;
    return version == 5 ? start(one, &e) : start(one, &f);
}

static void* proxy_main(void* argument) {
    communicator* one = argument;
    for (int call = 0; call < calls; ++call) {
        while (atomic_load(&one->ready) <= call) sched_yield();
        const uint64_t early = rank == 1 ? 0 : 2000000, begin = 1000000000000 + (uint64_t)call * 10000000 - early;
        const uint64_t end = begin + early + 1000000;
        void* handles[CHANNELS];
        for (int c = 0; c < CHANNELS; ++c) handles[c] = start_channel(one, one->tasks[call], c, begin + 100U * (uint64_t)c);
        for (int c = 0; c < CHANNELS; ++c) {
            if (handles[c] == NULL) continue;
            arguments more = {.timer = end - 100U * (uint64_t)c};
            if (version >= 4) the->record(handles[c], KERNEL_STOP, &more);
            stop(handles[c]);
        }
    }
    return NULL;
}

static void* caller_main(void* argument) {
    communicator* one = argument;
    pthread_t proxy;
    const bool has_proxy = (mask & (KERNEL | PROXY_OP)) != 0 && strcmp(how, "open") != 0;
    if (has_proxy) pthread_create(&proxy, NULL, proxy_main, one);
    for (int call = 0; call < calls; ++call) {
        void* api = (mask & COLL_API) ? start_api(one, call) : NULL;
        stop(api);
        void* group = start_group(one);
        void* task = is_send(call) ? start_send(one, api) : start_coll(one, call, api);
        one->tasks[call] = task;
        stop(task);
        stop(group);
        atomic_store(&one->ready, call + 1);
    }
    if (has_proxy) pthread_join(proxy, NULL);
    return NULL;
}

static void init(communicator* one) {
    const uint64_t id = 1000 + (uint64_t)one->number;
    one->context = (void*)0xdead;
    if (version < 4)
        ((int (*)(void**, int*))the->init)(&one->context, &mask);
    else if (version == 4)
        ((int (*)(void**, int*, const char*, uint64_t, int, int, int, void*))the->init)(&one->context, &mask, "pair", id,
                                                                                      1, ranks, rank, NULL);
    else
        ((int (*)(void**, uint64_t, int*, const char*, int, int, int, void*))the->init)(&one->context, id, &mask, "pair",
                                                                                      1, ranks, rank, NULL);
}

int main(int count, char** words) {
    if (count != 8) return 2;
    version = atoi(words[2]); rank = atoi(words[3]); ranks = atoi(words[4]); calls = atoi(words[5]);
    const int threads = atoi(words[6]);
    how = words[7];
    void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    the = library ? dlsym(library, symbol) : NULL;
    if (the == NULL) { fprintf(stderr, "%s\n", dlerror()); return 3; }
    communicator* every = calloc((size_t)threads, sizeof *every);
    pthread_t* callers = calloc((size_t)threads, sizeof *callers);
    for (int t = 0; t < threads; ++t) {
        every[t].number = t;
        every[t].tasks = calloc((size_t)calls + 1, sizeof(void*));
        mask = -1;
        init(&every[t]);
    }
    printf("mask %d context %d\n", mask, every[0].context != NULL);
    fflush(stdout);
    if (mask == 0) return 0;
    for (int t = 0; t < threads; ++t) pthread_create(&callers[t], NULL, caller_main, &every[t]);
    if (strcmp(how, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) exit(0);
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0) return 4;
    }
    for (int t = 0; t < threads; ++t) pthread_join(callers[t], NULL);
    if (strcmp(how, "kill") == 0) {
        nanosleep(&(struct timespec){1, 200000000}, NULL);
        calls = 1;
        atomic_store(&every[0].ready, 0);
        caller_main(&every[0]);
        raise(SIGKILL);
    }
    if (strcmp(how, "exit") == 0 || strcmp(how, "open") == 0) return 0;
    for (int t = 0; t < threads; ++t) the->finalize(every[t].context);
    dlclose(library);
    return 0;
}
