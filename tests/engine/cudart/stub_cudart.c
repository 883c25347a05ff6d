/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart.so without a GPU: device memory is host memory, of which untouched pages cost nothing. Each call is a line
 * of the file that STUB_CUDART_CALLS names; the first takes STUB_CUDART_START_MS, as starting the driver does. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cuda_runtime.h"

static void called(const char* name) {
    static int started = 0;
    const char* file = getenv("STUB_CUDART_CALLS");
    const char* start_ms = getenv("STUB_CUDART_START_MS");
    FILE* out = file ? fopen(file, "a") : NULL;
    if (out) {
        fprintf(out, "%s\n", name);
        fclose(out);
    }
    if (!started && start_ms) {
        const long wait_ms = atol(start_ms);
        const struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
        nanosleep(&wait, NULL);
    }
    started = 1;
}

static cudaError_t allocate(void** memory, size_t bytes) {
    *memory = malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaGetDeviceCount(int* count) {
    const char* devices = getenv("STUB_CUDART_DEVICES");
    called("cudaGetDeviceCount");
    *count = devices ? atoi(devices) : 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    char name[32];
    snprintf(name, sizeof name, "cudaSetDevice %d", device);
    called(name);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
    called("cudaMalloc");
    return allocate(memory, bytes);
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
    called("cudaMallocHost");
    return allocate(memory, bytes);
}

cudaError_t cudaFree(void* memory) {
    called("cudaFree");
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
    called("cudaFreeHost");
    free(memory);
    return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t code) {
    return code == cudaSuccess ? "no error" : "out of memory";
}
