/* SPDX-License-Identifier: Apache-2.0
 * A CUDA driver for tests: the entry points that memory/cuda.hpp asks for, over anonymous mappings.
 *   SLOWPATH_STUB_CUDA_DEVICES=N      devices there are (default 1); with 0, cuInit says CUDA_ERROR_NO_DEVICE
 *   SLOWPATH_STUB_CUDA_FAIL=CALL=CODE every call of CALL returns CODE
 *   SLOWPATH_STUB_CUDA_PROTECT=1      the CPU can't touch device memory except through the copies
 *   SLOWPATH_STUB_CUDA_ATTRIBUTES=0   value of every device attribute (default 1)
 *   SLOWPATH_STUB_CUDA_OPEN_NS_PER_PAGE=NS  cuIpcOpenMemHandle takes this long for each page of the
 * allocation's granule, the largest of 2 MiB, 64 KiB and 4 KiB that divides its length
 *   SLOWPATH_STUB_CUDA_INIT_MS=MS     the first cuInit takes this long
 *   SLOWPATH_STUB_CUDA_MOST_BYTES=N   an allocation longer than this fails for want of memory
 * Device memory is shared, so that another process can open it; calls may come from several threads.
 * Compiled with SLOWPATH_STUB_CUDA_OLD it is a driver without the calls of stub_cuda_memory.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201
};
enum { REGIONS = 1024 };

typedef struct {
    char* base;
    size_t bytes;
    int kind;       /* 'd' device, 'h' host, 'm' managed, 'i' device memory of another process,
                       'p' of a pool, 'v' reserved addresses, 'r' the caller's, registered */
    int descriptor; /* of device memory, else -1 */
} Region;

static Region regions[REGIONS];
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;
enum { CONTEXTS = 64 };
static int context_objects[CONTEXTS]; /* the primary context of each device */
static void* current_context;

#define STUB "SLOWPATH_STUB_CUDA"
#include "stub_variables.h"

static int protects(int kind) {
    const char* wanted = getenv("SLOWPATH_STUB_CUDA_PROTECT");
    return strchr("dipv", kind) != NULL && wanted != NULL && atoi(wanted) != 0;
}

/* Anonymous memory for all but device memory, which has a file, so that another process can map it. */
static int map_fresh(Region* region) {
    int protection = protects(region->kind) ? PROT_NONE : PROT_READ | PROT_WRITE;
    int sharing = region->kind == 'h' || region->kind == 'd' ? MAP_SHARED : MAP_PRIVATE;
    if (region->kind == 'd') {
        region->descriptor = memfd_create("stub_cuda", MFD_CLOEXEC);
        if (region->descriptor < 0 || ftruncate(region->descriptor, (off_t)region->bytes) != 0)
            return OUT_OF_MEMORY;
    } else {
        sharing |= MAP_ANONYMOUS;
    }
    void* base = mmap(NULL, region->bytes, protection, sharing, region->descriptor, 0);
    if (base == MAP_FAILED) return OUT_OF_MEMORY;
    region->base = base;
    return SUCCESS;
}

static int note_region(const Region* region) {
    int code = OUT_OF_MEMORY;
    pthread_mutex_lock(&regions_lock);
    for (int i = 0; i < REGIONS && code != SUCCESS; ++i) {
        if (regions[i].base != NULL) continue;
        regions[i] = *region;
        code = SUCCESS;
    }
    pthread_mutex_unlock(&regions_lock);
    return code;
}

static int add_region(void** pointer, size_t bytes, int kind) {
    if (current_context == NULL) return INVALID_CONTEXT;
    const char* most = getenv("SLOWPATH_STUB_CUDA_MOST_BYTES");
    if (bytes == 0) return INVALID_VALUE;
    if (most != NULL && bytes > strtoull(most, NULL, 10)) return OUT_OF_MEMORY;
    Region region = {NULL, bytes, kind, -1};
    int code = map_fresh(&region);
    if (code == SUCCESS) code = note_region(&region);
    if (code == SUCCESS)
        *pointer = region.base;
    else if (region.descriptor >= 0)
        close(region.descriptor);
    return code;
}

static int remove_region(void* pointer, const char* kinds) {
    int code = INVALID_VALUE;
    pthread_mutex_lock(&regions_lock);
    for (int i = 0; i < REGIONS && code != SUCCESS; ++i) {
        if (pointer == NULL || regions[i].base != pointer || strchr(kinds, regions[i].kind) == NULL) continue;
        if (regions[i].kind != 'r') munmap(regions[i].base, regions[i].bytes);
        if (regions[i].descriptor >= 0) close(regions[i].descriptor);
        regions[i].base = NULL;
        code = SUCCESS;
    }
    pthread_mutex_unlock(&regions_lock);
    return code;
}

/* The region that holds these bytes. */
static int find_region(const char* begin, size_t bytes, Region* found) {
    int code = INVALID_VALUE;
    pthread_mutex_lock(&regions_lock);
    for (int i = 0; i < REGIONS && code != SUCCESS; ++i) {
        const Region* r = &regions[i];
        if (r->base == NULL || begin < r->base || begin + bytes > r->base + r->bytes) continue;
        *found = *r;
        code = SUCCESS;
    }
    pthread_mutex_unlock(&regions_lock);
    return code;
}

static int copy(char* device_side, void* host_side, size_t bytes, int to_device) {
    Region r;
    if (current_context == NULL) return INVALID_CONTEXT;
    if (find_region(device_side, bytes, &r) != SUCCESS) return INVALID_VALUE;
    if (protects(r.kind)) mprotect(r.base, r.bytes, PROT_READ | PROT_WRITE);
    if (to_device)
        memcpy(device_side, host_side, bytes);
    else
        memcpy(host_side, device_side, bytes);
    if (protects(r.kind)) mprotect(r.base, r.bytes, PROT_NONE);
    return SUCCESS;
}

int cuInit(unsigned int flags) {
    FAIL_IF_INJECTED();
    if (flags != 0) return INVALID_VALUE;
    static int started = 0;
    const char* init_ms = getenv("SLOWPATH_STUB_CUDA_INIT_MS");
    if (!started && init_ms != NULL) usleep((useconds_t)atol(init_ms) * 1000);
    started = 1;
    return devices() == 0 ? NO_DEVICE : SUCCESS;
}

int cuDeviceGetCount(int* count) {
    FAIL_IF_INJECTED();
    *count = devices();
    return SUCCESS;
}

int cuDeviceGet(int* device, int ordinal) {
    FAIL_IF_INJECTED();
    *device = ordinal;
    return ordinal >= 0 && ordinal < devices() ? SUCCESS : INVALID_DEVICE;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    FAIL_IF_INJECTED();
    *context = &context_objects[device % CONTEXTS];
    return SUCCESS;
}

int cuCtxSetCurrent(void* context) {
    FAIL_IF_INJECTED();
    current_context = context;
    return SUCCESS;
}

/* For the stubs of libraries: the device whose context is current; -1: none is. */
int stub_current_device(void) {
    return current_context == NULL ? -1 : (int)((int*)current_context - context_objects);
}

/* For the stubs of libraries: memory that they map is memory of the device. */
void stub_adopt(void* base, size_t bytes) {
    Region region = {base, bytes, 'r', -1};
    note_region(&region);
}

int cuCtxSynchronize(void) {
    FAIL_IF_INJECTED();
    return current_context == NULL ? INVALID_CONTEXT : SUCCESS;
}

int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
    FAIL_IF_INJECTED();
    void* base = NULL;
    int code = add_region(&base, bytes, 'd');
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemAllocManaged(unsigned long long* pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    void* base = NULL;
    int code = flags == 1 ? add_region(&base, bytes, 'm') : INVALID_VALUE;
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    return flags == 0 ? add_region(pointer, bytes, 'h') : INVALID_VALUE;
}

int cuMemFree_v2(unsigned long long pointer) {
    FAIL_IF_INJECTED();
    return remove_region((void*)(uintptr_t)pointer, "dm");
}

int cuMemFreeHost(void* pointer) {
    FAIL_IF_INJECTED();
    return remove_region(pointer, "h");
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
    FAIL_IF_INJECTED();
    return copy((char*)(uintptr_t)to, (void*)(uintptr_t)from, bytes, 1);
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
    FAIL_IF_INJECTED();
    return copy((char*)(uintptr_t)from, to, bytes, 0);
}

int cuMemGetAddressRange_v2(unsigned long long* base, size_t* bytes, unsigned long long pointer) {
    FAIL_IF_INJECTED();
    Region r;
    if (find_region((char*)(uintptr_t)pointer, 1, &r) != SUCCESS) return INVALID_VALUE;
    *base = (uintptr_t)r.base;
    *bytes = r.bytes;
    return SUCCESS;
}

/* CUipcMemHandle is 64 opaque bytes; this is what this driver puts there. */
typedef union {
    char opaque[64];
    struct {
        pid_t process;
        int descriptor;
        size_t bytes;
    } memory;
} IpcHandle;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The injected law. */
static void wait_for_pages(size_t bytes) {
    const char* injected_ns = getenv("SLOWPATH_STUB_CUDA_OPEN_NS_PER_PAGE");
    size_t granule = bytes % (2u << 20) == 0 ? 2u << 20 : bytes % (64u << 10) == 0 ? 64u << 10 : 4u << 10;
    if (injected_ns == NULL) return;
    long long until_ns = now_ns() + atoll(injected_ns) * (long long)((bytes + granule - 1) / granule);
    while (now_ns() < until_ns) {
    }
}

int cuIpcGetMemHandle(IpcHandle* handle, unsigned long long pointer) {
    FAIL_IF_INJECTED();
    Region r;
    if (find_region((char*)(uintptr_t)pointer, 1, &r) != SUCCESS || r.kind != 'd') return INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    handle->memory.process = getpid();
    handle->memory.descriptor = r.descriptor;
    handle->memory.bytes = r.bytes;
    return SUCCESS;
}

int cuIpcOpenMemHandle_v2(unsigned long long* pointer, IpcHandle handle, unsigned int flags) {
    FAIL_IF_INJECTED();
    /* The one flag there is; and a process can't open its own memory. */
    if (flags != 1 || handle.memory.process == getpid()) return INVALID_VALUE;
    if (current_context == NULL) return INVALID_CONTEXT;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)handle.memory.process, handle.memory.descriptor);
    Region region = {NULL, handle.memory.bytes, 'i', open(path, O_RDWR | O_CLOEXEC)};
    if (region.descriptor < 0) return INVALID_VALUE;
    int protection = protects(region.kind) ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* base = mmap(NULL, region.bytes, protection, MAP_SHARED, region.descriptor, 0);
    if (base == MAP_FAILED) return OUT_OF_MEMORY;
    region.base = base;
    wait_for_pages(region.bytes);
    *pointer = (uintptr_t)base;
    return note_region(&region);
}

int cuIpcCloseMemHandle(unsigned long long pointer) {
    FAIL_IF_INJECTED();
    return remove_region((void*)(uintptr_t)pointer, "i");
}

int cuGetErrorName(int code, const char** text) {
    if (code == 999) return INVALID_VALUE; /* a code that this driver has no name for */
    *text = code == OUT_OF_MEMORY    ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == INVALID_DEVICE ? "CUDA_ERROR_INVALID_DEVICE"
                                     : "CUDA_ERROR_OTHER";
    return SUCCESS;
}

int cuGetErrorString(int code, const char** text) {
    if (code == 999) return INVALID_VALUE;
    *text = code == OUT_OF_MEMORY ? "out of memory" : "stub error";
    return SUCCESS;
}

#ifndef SLOWPATH_STUB_CUDA_OLD
#include "stub_cuda_memory.h"
#endif
