/* SPDX-License-Identifier: Apache-2.0
 * cuGetProcAddress for the stub driver. The addresses that it gives are not those of the exported symbols, as
 * a driver's need not be.
 */
#include <stdint.h>
#include <string.h>

enum { SUCCESS = 0, NOT_FOUND = 500 };

int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes);
int cuMemFree_v2(unsigned long long pointer);
int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, int* status);

static int other_alloc(unsigned long long* pointer, size_t bytes) {
    return cuMemAlloc_v2(pointer, bytes);
}

static int other_free(unsigned long long pointer) {
    return cuMemFree_v2(pointer);
}

int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
    (void)flags;
    *function = NULL;
    if (strcmp(symbol, "cuMemAlloc") == 0) *function = (void*)other_alloc;
    if (strcmp(symbol, "cuMemFree") == 0) *function = (void*)other_free;
    if (strcmp(symbol, "cuGetProcAddress") == 0)
        *function = version >= 12000 ? (void*)cuGetProcAddress_v2 : (void*)cuGetProcAddress;
    return *function == NULL ? NOT_FOUND : SUCCESS;
}

int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, int* status) {
    int code = cuGetProcAddress(symbol, function, version, flags);
    if (status != NULL) *status = code == SUCCESS ? 0 : 1;
    return code;
}
