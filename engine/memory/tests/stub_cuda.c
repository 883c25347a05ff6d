/* SPDX-License-Identifier: Apache-2.0
 * A CUDA driver for tests: the entry points that memory/cuda_driver.hpp asks for, over anonymous mappings.
 *   SLOWPATH_STUB_CUDA_DEVICES=N      devices there are (default 1); with 0, cuInit says CUDA_ERROR_NO_DEVICE
 *   SLOWPATH_STUB_CUDA_FAIL=CALL=CODE every call of CALL returns CODE
 *   SLOWPATH_STUB_CUDA_PROTECT=1      the CPU can't touch device memory except through the copies
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
    int kind; /* 'd' device, 'h' host, 'm' managed */
} Region;

static Region regions[REGIONS];
static int context_object;
static void* current_context;

static int planted(const char* call) {
    const char* plan = getenv("SLOWPATH_STUB_CUDA_FAIL");
    size_t length = strlen(call);
    return plan != NULL && strncmp(plan, call, length) == 0 && plan[length] == '=' ? atoi(plan + length + 1)
                                                                                   : SUCCESS;
}

#define FAIL_IF_PLANTED()                   \
    do {                                    \
        int code_ = planted(__func__);      \
        if (code_ != SUCCESS) return code_; \
    } while (0)

static int devices(void) {
    const char* count = getenv("SLOWPATH_STUB_CUDA_DEVICES");
    return count == NULL ? 1 : atoi(count);
}

static int protects(int kind) {
    const char* wanted = getenv("SLOWPATH_STUB_CUDA_PROTECT");
    return kind == 'd' && wanted != NULL && atoi(wanted) != 0;
}

static int add_region(void** pointer, size_t bytes, int kind) {
    if (current_context == NULL) return INVALID_CONTEXT;
    if (bytes == 0) return INVALID_VALUE;
    for (int i = 0; i < REGIONS; ++i) {
        if (regions[i].base != NULL) continue;
        int protection = protects(kind) ? PROT_NONE : PROT_READ | PROT_WRITE;
        int sharing = kind == 'h' ? MAP_SHARED : MAP_PRIVATE;
        void* base = mmap(NULL, bytes, protection, sharing | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) return OUT_OF_MEMORY;
        regions[i] = (Region){base, bytes, kind};
        *pointer = base;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

static int remove_region(void* pointer, int host) {
    for (int i = 0; i < REGIONS; ++i) {
        if (pointer == NULL || regions[i].base != pointer || (regions[i].kind == 'h') != host) continue;
        munmap(regions[i].base, regions[i].bytes);
        regions[i].base = NULL;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

static int copy(char* device_side, void* host_side, size_t bytes, int to_device) {
    if (current_context == NULL) return INVALID_CONTEXT;
    for (int i = 0; i < REGIONS; ++i) {
        Region* r = &regions[i];
        if (r->base == NULL || device_side < r->base || device_side + bytes > r->base + r->bytes) continue;
        if (protects(r->kind)) mprotect(r->base, r->bytes, PROT_READ | PROT_WRITE);
        if (to_device)
            memcpy(device_side, host_side, bytes);
        else
            memcpy(host_side, device_side, bytes);
        if (protects(r->kind)) mprotect(r->base, r->bytes, PROT_NONE);
        return SUCCESS;
    }
    return INVALID_VALUE;
}

int cuInit(unsigned int flags) {
    FAIL_IF_PLANTED();
    if (flags != 0) return INVALID_VALUE;
    return devices() == 0 ? NO_DEVICE : SUCCESS;
}

int cuDeviceGetCount(int* count) {
    FAIL_IF_PLANTED();
    *count = devices();
    return SUCCESS;
}

int cuDeviceGet(int* device, int ordinal) {
    FAIL_IF_PLANTED();
    *device = ordinal;
    return ordinal >= 0 && ordinal < devices() ? SUCCESS : INVALID_DEVICE;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    FAIL_IF_PLANTED();
    (void)device;
    *context = &context_object;
    return SUCCESS;
}

int cuCtxSetCurrent(void* context) {
    FAIL_IF_PLANTED();
    current_context = context;
    return SUCCESS;
}

int cuCtxSynchronize(void) {
    FAIL_IF_PLANTED();
    return current_context == NULL ? INVALID_CONTEXT : SUCCESS;
}

int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
    FAIL_IF_PLANTED();
    void* base = NULL;
    int code = add_region(&base, bytes, 'd');
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemAllocManaged(unsigned long long* pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_PLANTED();
    void* base = NULL;
    int code = flags == 1 ? add_region(&base, bytes, 'm') : INVALID_VALUE;
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_PLANTED();
    return flags == 0 ? add_region(pointer, bytes, 'h') : INVALID_VALUE;
}

int cuMemFree_v2(unsigned long long pointer) {
    FAIL_IF_PLANTED();
    return remove_region((void*)(uintptr_t)pointer, 0);
}

int cuMemFreeHost(void* pointer) {
    FAIL_IF_PLANTED();
    return remove_region(pointer, 1);
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
    FAIL_IF_PLANTED();
    return copy((char*)(uintptr_t)to, (void*)(uintptr_t)from, bytes, 1);
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
    FAIL_IF_PLANTED();
    return copy((char*)(uintptr_t)from, to, bytes, 0);
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
