/* SPDX-License-Identifier: Apache-2.0
 * Linked with the runtime, opened by a program that is not.
 */
#include <stddef.h>

int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int plugin_allocate(void** pointer, size_t bytes);
int plugin_free(void* pointer);

int plugin_allocate(void** pointer, size_t bytes) {
    return cudaMalloc(pointer, bytes);
}

int plugin_free(void* pointer) {
    return cudaFree(pointer);
}
