/* SPDX-License-Identifier: Apache-2.0
 * A CUDA runtime for tests: like the real one it opens the driver itself and asks it for its functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef int (*GetProcAddress)(const char*, void**, int, uint64_t, int*);

int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaGetDriverEntryPoint(const char* symbol, void** function, uint64_t flags, int* status);

static void* entry(const char* symbol) {
    void* driver = dlopen(getenv("SLOWPATH_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    GetProcAddress first = (GetProcAddress)dlsym(driver, "cuGetProcAddress_v2");
    void *second = NULL, *function = NULL;
    if (first("cuGetProcAddress", &second, 12000, 0, NULL) != 0) abort();
    if (((GetProcAddress)second)(symbol, &function, 12000, 0, NULL) != 0) abort();
    return function;
}

int cudaMalloc(void** pointer, size_t bytes) {
    return ((int (*)(void**, size_t))entry("cuMemAlloc"))(pointer, bytes);
}

int cudaFree(void* pointer) {
    return ((int (*)(void*))entry("cuMemFree"))(pointer);
}

int cudaGetDriverEntryPoint(const char* symbol, void** function, uint64_t flags, int* status) {
    (void)flags, (void)status;
    *function = entry(symbol);
    return 0;
}
