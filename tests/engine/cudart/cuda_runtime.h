/* SPDX-License-Identifier: Apache-2.0 */
/* The few declarations of the CUDA runtime that the printed reproducers use; stub_cudart.c defines them. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 } cudaError_t;

cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaSetDevice(int device);
const char* cudaGetErrorString(cudaError_t code);

#ifdef __cplusplus
}
#endif
