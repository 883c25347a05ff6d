/* SPDX-License-Identifier: Apache-2.0
 * The stub of the CUDA driver with streams that work behind the caller's back, as a device's do: each stream
 * is a thread with a queue, so that work which does not wait for what it needs reads what was there before.
 *   SLOWPATH_STUB_CUDA_COPY_US=N  each copy on a stream waits so long before it begins
 *   SLOWPATH_STUB_CUDA_WORK_US=N  each multiplication does
 *   SLOWPATH_STUB_CUDA_DROP=N     copy N (from 1) of this process on a stream moves nothing
 */
#define SLOWPATH_STUB_CUDA_OLD /* the later calls of the stub have a cuStreamSynchronize of their own */
#include "stub_cuda.c"

typedef struct Operation {
    void (*run)(void* argument);
    void* argument;
    struct Operation* next;
} Operation;

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Operation *first, *last;
    int busy, ends;
} Stream;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long recorded, done; /* how often */
    long long at_ns;
} Event;

static void* serve(void* argument) {
    Stream* stream = argument;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->first == NULL && !stream->ends) pthread_cond_wait(&stream->changed, &stream->lock);
        Operation* operation = stream->first;
        if (operation == NULL) break;
        stream->first = operation->next;
        stream->busy = 1;
        pthread_mutex_unlock(&stream->lock);
        operation->run(operation->argument);
        free(operation);
        pthread_mutex_lock(&stream->lock);
        stream->busy = 0;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* For the stub of cuBLAS: `run` frees its argument. */
void stub_enqueue(Stream* stream, void (*run)(void*), void* argument) {
    Operation* operation = malloc(sizeof *operation);
    *operation = (Operation){run, argument, NULL};
    pthread_mutex_lock(&stream->lock);
    if (stream->first == NULL)
        stream->first = operation;
    else
        stream->last->next = operation;
    stream->last = operation;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

void stub_wait_us(const char* name) {
    const char* text = getenv(name);
    if (text != NULL) usleep((useconds_t)atoi(text));
}

int cuStreamCreate(Stream** made, unsigned int flags) {
    FAIL_IF_INJECTED();
    if (current_context == NULL) return INVALID_CONTEXT;
    if (flags > 1) return INVALID_VALUE;
    Stream* stream = calloc(1, sizeof *stream);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    pthread_create(&stream->thread, NULL, serve, stream);
    *made = stream;
    return SUCCESS;
}

int cuStreamSynchronize(Stream* stream) {
    FAIL_IF_INJECTED();
    pthread_mutex_lock(&stream->lock);
    while (stream->first != NULL || stream->busy) pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    return SUCCESS;
}

int cuStreamDestroy_v2(Stream* stream) {
    FAIL_IF_INJECTED();
    pthread_mutex_lock(&stream->lock);
    stream->ends = 1;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    free(stream);
    return SUCCESS;
}

int cuEventCreate(Event** made, unsigned int flags) {
    FAIL_IF_INJECTED();
    if (flags != 0) return INVALID_VALUE;
    *made = calloc(1, sizeof **made);
    pthread_mutex_init(&(*made)->lock, NULL);
    pthread_cond_init(&(*made)->changed, NULL);
    return SUCCESS;
}

int cuEventDestroy_v2(Event* event) {
    FAIL_IF_INJECTED();
    (void)event;  // may be destroyed before it has completed (CUDA Driver API, cuEventDestroy): never freed
                  // here
    return SUCCESS;
}

static void note_event(void* argument) {
    Event* event = argument;
    pthread_mutex_lock(&event->lock);
    event->at_ns = now_ns();
    ++event->done;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

int cuEventRecord(Event* event, Stream* stream) {
    FAIL_IF_INJECTED();
    pthread_mutex_lock(&event->lock);
    ++event->recorded;
    pthread_mutex_unlock(&event->lock);
    stub_enqueue(stream, note_event, event);
    return SUCCESS;
}

typedef struct {
    Event* event;
    long times;
} Awaited;

static void await(void* argument) {
    Awaited awaited = *(Awaited*)argument;
    free(argument);
    pthread_mutex_lock(&awaited.event->lock);
    while (awaited.event->done < awaited.times)
        pthread_cond_wait(&awaited.event->changed, &awaited.event->lock);
    pthread_mutex_unlock(&awaited.event->lock);
}

static Awaited* latest_of(Event* event) {
    Awaited* awaited = malloc(sizeof *awaited);
    pthread_mutex_lock(&event->lock);
    *awaited = (Awaited){event, event->recorded};
    pthread_mutex_unlock(&event->lock);
    return awaited;
}

/* An event that was never recorded counts as done. */
int cuEventSynchronize(Event* event) {
    FAIL_IF_INJECTED();
    await(latest_of(event));
    return SUCCESS;
}

int cuStreamWaitEvent(Stream* stream, Event* event, unsigned int flags) {
    FAIL_IF_INJECTED();
    if (flags != 0) return INVALID_VALUE;
    stub_enqueue(stream, await, latest_of(event));
    return SUCCESS;
}

int cuEventElapsedTime(float* elapsed_ms, Event* begin, Event* end) {
    FAIL_IF_INJECTED();
    if (begin->done == 0 || end->done == 0 || begin->done < begin->recorded || end->done < end->recorded)
        return 600; /* CUDA_ERROR_NOT_READY */
    *elapsed_ms = (float)(1e-6 * (double)(end->at_ns - begin->at_ns));
    return SUCCESS;
}

typedef struct {
    char *to, *from;
    size_t bytes;
} Copy;

static void copy_later(void* argument) {
    static int copies = 0;
    const char* dropped = getenv("SLOWPATH_STUB_CUDA_DROP");
    Copy* copied = argument;
    stub_wait_us("SLOWPATH_STUB_CUDA_COPY_US");
    if (dropped == NULL || ++copies != atoi(dropped)) memmove(copied->to, copied->from, copied->bytes);
    free(copied);
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, Stream* stream) {
    FAIL_IF_INJECTED();
    Region region;
    if (find_region((char*)(uintptr_t)to, bytes, &region) != SUCCESS ||
        find_region((char*)(uintptr_t)from, bytes, &region) != SUCCESS)
        return INVALID_VALUE;
    Copy* copied = malloc(sizeof *copied);
    *copied = (Copy){(char*)(uintptr_t)to, (char*)(uintptr_t)from, bytes};
    stub_enqueue(stream, copy_later, copied);
    return SUCCESS;
}

int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) {
    FAIL_IF_INJECTED();
    Region region;
    if (find_region((char*)(uintptr_t)to, bytes, &region) != SUCCESS) return INVALID_VALUE;
    memset((char*)(uintptr_t)to, value, bytes);
    return SUCCESS;
}
