/* SPDX-License-Identifier: Apache-2.0
 * A HIP runtime for tests: the entry points that memory/hip.hpp asks for, over anonymous mappings.
 *   SLOWPATH_STUB_HIP_DEVICES=N      devices there are (default 1); with 0, hipInit says hipErrorNoDevice
 *   SLOWPATH_STUB_HIP_FAIL=CALL=CODE every call of CALL returns CODE
 * The CPU can't touch device memory except through hipMemcpy.
 * Compiled with SLOWPATH_STUB_HIP_OLD it is a runtime without the calls that slowpath can do without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101 };
enum { REGIONS = 256 };

typedef struct {
    char* base;
    size_t bytes;
    int kind; /* 'd' device, 'h' host, 'm' managed, 'p' pool, 'r' the caller's, registered */
} Region;

static Region regions[REGIONS];
static int current_device = -1; /* to see that someone sets it */

#define STUB "SLOWPATH_STUB_HIP"
#include "stub_variables.h"

static int protects(int kind) {
    return kind == 'd' || kind == 'p';
}

static int note_region(char* base, size_t bytes, int kind) {
    for (int i = 0; i < REGIONS; ++i) {
        if (regions[i].base != NULL) continue;
        regions[i] = (Region){base, bytes, kind};
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

static int add_region(void** pointer, size_t bytes, int kind) {
    if (current_device < 0) return INVALID_DEVICE;
    if (bytes == 0) return INVALID_VALUE;
    int protection = protects(kind) ? PROT_NONE : PROT_READ | PROT_WRITE;
    *pointer = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return *pointer == MAP_FAILED ? OUT_OF_MEMORY : note_region(*pointer, bytes, kind);
}

static int remove_region(void* pointer, const char* kinds) {
    for (int i = 0; i < REGIONS; ++i) {
        if (pointer == NULL || regions[i].base != pointer || strchr(kinds, regions[i].kind) == NULL) continue;
        if (regions[i].kind != 'r') munmap(regions[i].base, regions[i].bytes);
        regions[i].base = NULL;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

static Region* find_region(const char* begin, size_t bytes) {
    for (int i = 0; i < REGIONS; ++i) {
        Region* r = &regions[i];
        if (r->base != NULL && begin >= r->base && begin + bytes <= r->base + r->bytes) return r;
    }
    return NULL;
}

int hipInit(unsigned int flags) {
    FAIL_IF_INJECTED();
    if (flags != 0) return INVALID_VALUE;
    return devices() == 0 ? NO_DEVICE : SUCCESS;
}

int hipGetDeviceCount(int* count) {
    FAIL_IF_INJECTED();
    *count = devices();
    return SUCCESS;
}

int hipSetDevice(int ordinal) {
    FAIL_IF_INJECTED();
    current_device = ordinal;
    return ordinal >= 0 && ordinal < devices() ? SUCCESS : INVALID_DEVICE;
}

int hipDeviceSynchronize(void) {
    FAIL_IF_INJECTED();
    return current_device < 0 ? INVALID_DEVICE : SUCCESS;
}

int hipMalloc(void** pointer, size_t bytes) {
    FAIL_IF_INJECTED();
    return add_region(pointer, bytes, 'd');
}

int hipFree(void* pointer) {
    FAIL_IF_INJECTED();
    return remove_region(pointer, "dm");
}

int hipHostMalloc(void** pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    return flags == 0 ? add_region(pointer, bytes, 'h') : INVALID_VALUE;
}

int hipHostFree(void* pointer) {
    FAIL_IF_INJECTED();
    return remove_region(pointer, "h");
}

int hipMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    return flags == 1 ? add_region(pointer, bytes, 'm') : INVALID_VALUE;
}

int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
    FAIL_IF_INJECTED();
    if (kind != 1 && kind != 2) return INVALID_VALUE; /* host to device, device to host */
    Region* r = find_region(kind == 1 ? to : from, bytes);
    if (r == NULL) return INVALID_VALUE;
    mprotect(r->base, r->bytes, PROT_READ | PROT_WRITE);
    memcpy(to, from, bytes);
    if (protects(r->kind)) mprotect(r->base, r->bytes, PROT_NONE);
    return SUCCESS;
}

const char* hipGetErrorName(int code) {
    return code == OUT_OF_MEMORY    ? "hipErrorOutOfMemory"
           : code == INVALID_DEVICE ? "hipErrorInvalidDevice"
                                    : "hipErrorUnknown";
}

const char* hipGetErrorString(int code) {
    return code == OUT_OF_MEMORY ? "out of memory" : "stub error";
}

#ifndef SLOWPATH_STUB_HIP_OLD

int hipMemGetAddressRange(void** base, size_t* bytes, void* pointer) {
    FAIL_IF_INJECTED();
    Region* r = find_region(pointer, 1);
    if (r == NULL) return INVALID_VALUE;
    *base = r->base;
    *bytes = r->bytes;
    return SUCCESS;
}

int hipHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    if (current_device < 0) return INVALID_DEVICE;
    return pointer != NULL && bytes != 0 && flags == 0 ? note_region(pointer, bytes, 'r') : INVALID_VALUE;
}

int hipHostUnregister(void* pointer) {
    FAIL_IF_INJECTED();
    return remove_region(pointer, "r");
}

int hipMallocAsync(void** pointer, size_t bytes, void* stream) {
    FAIL_IF_INJECTED();
    return stream == NULL ? add_region(pointer, bytes, 'p') : INVALID_VALUE;
}

int hipFreeAsync(void* pointer, void* stream) {
    FAIL_IF_INJECTED();
    return stream == NULL ? remove_region(pointer, "p") : INVALID_VALUE;
}

int hipStreamSynchronize(void* stream) {
    FAIL_IF_INJECTED();
    return stream == NULL ? SUCCESS : INVALID_VALUE;
}

int hipDeviceGetName(char* name, int length, int device) {
    FAIL_IF_INJECTED();
    snprintf(name, (size_t)length, "Stub HIP device %d", device);
    return SUCCESS;
}

int hipDeviceGetPCIBusId(char* bus_id, int length, int device) {
    FAIL_IF_INJECTED();
    snprintf(bus_id, (size_t)length, "0000:%02x:00.0", (unsigned)device);
    return SUCCESS;
}

int hipDeviceTotalMem(size_t* bytes, int device) {
    FAIL_IF_INJECTED();
    *bytes = (size_t)1 << 30;
    return device < devices() ? SUCCESS : INVALID_DEVICE;
}

int hipDeviceCanAccessPeer(int* can, int device, int peer) {
    FAIL_IF_INJECTED();
    *can = device == 0 && peer == 1; /* not the other way round, to see who asks whom */
    return SUCCESS;
}

#endif
