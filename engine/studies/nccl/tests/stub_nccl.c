/* SPDX-License-Identifier: Apache-2.0
 * An NCCL for tests, between processes of one machine: mailboxes in shared memory, one for each pair of
 * ranks. Work is done on the stub driver's streams, behind the caller's back, so that whoever does not wait
 * for the stream sees what was there before. Two ranks on one device are refused.
 *   SLOWPATH_STUB_NCCL_INIT_MS=N   ncclCommInitRank takes this long, and says that it was spent on "alloc"
 *   SLOWPATH_STUB_NCCL_START_MS=N  its runtime takes this long to start, once a process, in ncclGetUniqueId,
 *                                  ncclMemFree or ncclCommInitRank, whichever comes first
 *   SLOWPATH_STUB_NCCL_FIRST_MS=N  the first call of a communicator takes this long before it returns
 *   SLOWPATH_STUB_NCCL_FAIL=CALL   that function fails, as where the driver is too old
 *   SLOWPATH_STUB_NCCL_WRONG=1     the last element that a rank gets is another
 * Its report goes to the file of NCCL_DEBUG_FILE where NCCL_DEBUG=INFO.
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

enum { SUCCESS = 0, CUDA_FAILURE = 1, SYSTEM_FAILURE = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { RANKS = 8, BOX_BYTES = 1 << 16, PATIENCE_S = 120 };

typedef struct {
    char name[128];
} Id;

typedef struct {
    atomic_size_t bytes; /* 0: empty */
    char data[BOX_BYTES];
} Box;

typedef struct {
    atomic_int joined, devices[RANKS]; /* from 1; 0: not told */
    Box boxes[RANKS][RANKS];           /* from, to */
} Shared;

typedef struct {
    int rank, ranks, calls;
    Shared* shared;
} Communicator;

typedef struct {
    char* data;
    size_t bytes, done;
    int peer, sends;
} Transfer;

typedef struct {
    Communicator* communicator;
    int transfers;
    Transfer all[2 * RANKS];
    /* of a reduction: what each rank gave, RANKS * count floats, to be summed up to `to`. */
    float *gathered, *to;
    size_t count;
} Work;

void stub_enqueue(void* stream, void (*run)(void*), void* argument);
int stub_current_device(void);

static _Thread_local Work* group;
static _Thread_local int in_group;
static _Thread_local void* group_stream;

static int fails(const char* call) {
    const char* wanted = getenv("SLOWPATH_STUB_NCCL_FAIL");
    return wanted != NULL && strcmp(wanted, call) == 0;
}

static void wait_ms(const char* variable) {
    const char* text = getenv(variable);
    if (text != NULL) usleep((useconds_t)atoi(text) * 1000);
}

static void start_runtime(void) {
    static int started = 0;
    if (!started) wait_ms("SLOWPATH_STUB_NCCL_START_MS");
    started = 1;
}

int ncclMemFree(void* data) {
    if (fails("ncclMemFree") || data != NULL) return CUDA_FAILURE;
    start_runtime();
    return SUCCESS;
}

int ncclGetVersion(int* version) {
    *version = 23203;
    return SUCCESS;
}

const char* ncclGetErrorString(int result) {
    return result == SUCCESS ? "no error" : "stub error";
}

const char* ncclGetLastError(void* communicator) {
    (void)communicator;
    return "as the test wanted";
}

int ncclGetUniqueId(Id* id) {
    static int made = 0;
    if (fails("ncclGetUniqueId")) return CUDA_FAILURE;
    start_runtime();
    memset(id, 0, sizeof *id);
    snprintf(id->name, sizeof id->name, "/slowpath-stub-nccl-%d-%d", (int)getpid(), ++made);
    return SUCCESS;
}

static void report(int rank, int ranks) {
    const char* level = getenv("NCCL_DEBUG");
    const char* path = getenv("NCCL_DEBUG_FILE");
    static FILE* file = NULL;
    if (level == NULL || strcmp(level, "INFO") != 0 || path == NULL) return;
    if (file == NULL) file = fopen(path, "w");
    if (file == NULL) return;
    const char* init = getenv("SLOWPATH_STUB_NCCL_INIT_MS");
    double alloc_s = init == NULL ? 0 : 1e-3 * atoi(init);
    fprintf(file,
            "host:1:1 [0] NCCL INFO Init timings - ncclCommInitRank: rank %d nranks %d total %.2f (kernels "
            "0.00, alloc "
            "%.2f, bootstrap 0.00, allgathers 0.00, topo 0.00, graphs 0.00, connections 0.00, rest 0.00)\n",
            rank, ranks, alloc_s, alloc_s);
    fflush(file);
}

int ncclCommInitRank(Communicator** made, int ranks, Id id, int rank) {
    if (fails("ncclCommInitRank")) return CUDA_FAILURE;
    if (ranks > RANKS || rank < 0 || rank >= ranks) return INVALID_ARGUMENT;
    int descriptor = shm_open(id.name, O_CREAT | O_RDWR, 0600);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(Shared)) != 0) return SYSTEM_FAILURE;
    void* shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (shared == MAP_FAILED) return SYSTEM_FAILURE;
    Communicator* fresh = calloc(1, sizeof *fresh);
    *fresh = (Communicator){rank, ranks, 0, shared};
    start_runtime();
    atomic_store(&fresh->shared->devices[rank], 1 + stub_current_device());
    atomic_fetch_add(&fresh->shared->joined, 1);
    time_t begin = time(NULL);
    while (atomic_load(&fresh->shared->joined) < ranks) {
        if (time(NULL) - begin > PATIENCE_S) return SYSTEM_FAILURE;
        sched_yield();
    }
    if (rank == 0) shm_unlink(id.name);
    for (int other = 0; other < ranks; ++other)
        if (other != rank && fresh->shared->devices[other] == fresh->shared->devices[rank])
            return INVALID_USAGE; /* Duplicate GPU detected */
    wait_ms("SLOWPATH_STUB_NCCL_INIT_MS");
    report(rank, ranks);
    *made = fresh;
    return SUCCESS;
}

int ncclCommDestroy(Communicator* communicator) {
    munmap(communicator->shared, sizeof(Shared));
    free(communicator);
    return SUCCESS;
}

/* One message at most; whether it moved. */
static int advance(Communicator* c, Transfer* t) {
    Box* box = t->sends ? &c->shared->boxes[c->rank][t->peer] : &c->shared->boxes[t->peer][c->rank];
    size_t held = atomic_load(&box->bytes), left = t->bytes - t->done;
    if (t->sends) {
        if (held != 0) return 0;
        size_t bytes = left < BOX_BYTES ? left : BOX_BYTES;
        memcpy(box->data, t->data + t->done, bytes);
        t->done += bytes;
        atomic_store(&box->bytes, bytes);
        return 1;
    }
    if (held == 0) return 0;
    memcpy(t->data + t->done, box->data, held);
    t->done += held;
    atomic_store(&box->bytes, (size_t)0);
    return 1;
}

static void perform(void* argument) {
    Work* work = argument;
    for (int left = 1; left != 0;) {
        int moved = 0;
        left = 0;
        for (int i = 0; i < work->transfers; ++i) {
            Transfer* t = &work->all[i];
            if (t->done == t->bytes) continue;
            moved |= advance(work->communicator, t);
            left |= t->done < t->bytes;
        }
        if (left && !moved) sched_yield();
    }
    for (size_t i = 0; i < work->count; ++i) {
        float sum = 0;
        for (int rank = 0; rank < work->communicator->ranks; ++rank)
            sum += work->gathered[(size_t)rank * work->count + i];
        work->to[i] = sum;
    }
    const char* wrong = getenv("SLOWPATH_STUB_NCCL_WRONG");
    if (wrong != NULL && work->count != 0) work->to[work->count - 1] += 1;
    free(work->gathered);
    free(work);
}

static Work* work_of(Communicator* communicator) {
    Work* work = calloc(1, sizeof *work);
    work->communicator = communicator;
    return work;
}

static void add(Work* work, const void* data, size_t count, int peer, int sends) {
    work->all[work->transfers++] = (Transfer){(char*)(size_t)data, count * sizeof(float), 0, peer, sends};
}

static int start(Work* work, void* stream) {
    if (work->communicator->calls++ == 0) wait_ms("SLOWPATH_STUB_NCCL_FIRST_MS");
    stub_enqueue(stream, perform, work);
    return SUCCESS;
}

int ncclGroupStart(void) {
    ++in_group;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    if (--in_group != 0 || group == NULL) return SUCCESS;
    Work* work = group;
    group = NULL;
    return start(work, group_stream);
}

static int point_to_point(const void* data, size_t count, int peer, int sends, Communicator* c,
                          void* stream) {
    Work* work = in_group && group != NULL ? group : work_of(c);
    add(work, data, count, peer, sends);
    if (!in_group) return start(work, stream);
    group = work;
    group_stream = stream;
    return SUCCESS;
}

int ncclSend(const void* from, size_t count, int type, int peer, Communicator* c, void* stream) {
    return type != 7 || fails("ncclSend") ? INVALID_ARGUMENT
                                          : point_to_point(from, count, peer, 1, c, stream);
}

int ncclRecv(void* to, size_t count, int type, int peer, Communicator* c, void* stream) {
    return type != 7 ? INVALID_ARGUMENT : point_to_point(to, count, peer, 0, c, stream);
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Communicator* c,
                  void* stream) {
    if (type != 7 || from != to) return INVALID_ARGUMENT; /* in place is all that the engine asks for */
    Work* work = work_of(c);
    for (int rank = 0; rank < c->ranks; ++rank)
        if (c->rank == root && rank != root) add(work, from, count, rank, 1);
    if (c->rank != root) add(work, to, count, root, 0);
    return start(work, stream);
}

/* Each rank's `count` elements of `from + rank * stride` to that rank, and theirs to `to`, in the order of
 * ranks. */
static void exchange(Work* work, const float* from, size_t stride, float* to, size_t count) {
    for (int rank = 0; rank < work->communicator->ranks; ++rank) {
        add(work, from + (size_t)rank * stride, count, rank, 1);
        add(work, to + (size_t)rank * count, count, rank, 0);
    }
}

int ncclAllGather(const void* from, void* to, size_t count, int type, Communicator* c, void* stream) {
    if (type != 7) return INVALID_ARGUMENT;
    Work* work = work_of(c);
    exchange(work, from, 0, to, count);
    return start(work, stream);
}

static int reduce(const void* from, size_t stride, void* to, size_t count, int type, int op, Communicator* c,
                  void* stream) {
    if (type != 7 || op != 0) return INVALID_ARGUMENT;
    Work* work = work_of(c);
    work->gathered = malloc(count * (size_t)c->ranks * sizeof(float));
    work->to = to;
    work->count = count;
    exchange(work, from, stride, work->gathered, count);
    return start(work, stream);
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, Communicator* c, void* stream) {
    return fails("ncclAllReduce") ? INVALID_USAGE : reduce(from, 0, to, count, type, op, c, stream);
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, Communicator* c,
                      void* stream) {
    return reduce(from, count, to, count, type, op, c, stream);
}
