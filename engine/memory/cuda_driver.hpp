// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memory/error.hpp"

namespace slowpath::memory {

// The few types of the CUDA driver API (cuda.h) that are needed; no CUDA header is used, so that one build
// runs with and without a GPU. CUresult and the enums are ints, contexts are opaque pointers.
using CudaResult = int;
using CudaDevicePointer = unsigned long long;

/// The entry points, by the names that libcuda exports; cuda.h maps e.g. cuMemAlloc to cuMemAlloc_v2.
struct CudaFunctions {
    CudaResult (*cuInit)(unsigned int flags);
    CudaResult (*cuDeviceGetCount)(int* count);
    CudaResult (*cuDeviceGet)(int* device, int ordinal);
    CudaResult (*cuDevicePrimaryCtxRetain)(void** context, int device);
    CudaResult (*cuCtxSetCurrent)(void* context);
    CudaResult (*cuCtxSynchronize)();
    CudaResult (*cuMemAlloc_v2)(CudaDevicePointer* pointer, std::size_t bytes);
    CudaResult (*cuMemFree_v2)(CudaDevicePointer pointer);
    CudaResult (*cuMemHostAlloc)(void** pointer, std::size_t bytes, unsigned int flags);
    CudaResult (*cuMemFreeHost)(void* pointer);
    CudaResult (*cuMemAllocManaged)(CudaDevicePointer* pointer, std::size_t bytes, unsigned int flags);
    CudaResult (*cuMemcpyHtoD_v2)(CudaDevicePointer to, const void* from, std::size_t bytes);
    CudaResult (*cuMemcpyDtoH_v2)(void* to, CudaDevicePointer from, std::size_t bytes);
    CudaResult (*cuGetErrorName)(CudaResult code, const char** text);
    CudaResult (*cuGetErrorString)(CudaResult code, const char** text);
};

/// libcuda.so.1, loaded at run time; the variable SLOWPATH_CUDA_DRIVER names another library.
class CudaDriver {
  public:
    /// The one driver of this process, loaded and initialised at the first call, or nullptr: see
    /// unavailable().
    static CudaDriver* instance();

    /// Why there is no driver to use; empty if there is one.
    static const std::string& unavailable();

    int device_count() const { return device_count_; }

    /// Make the primary context of a device current on this thread: the one that the CUDA runtime, and so the
    /// application and the MPI library, use. It stays retained until the process ends, as theirs does.
    /// @throws Error naming the call, for `bytes` bytes.
    void use(int ordinal, std::size_t bytes);

    /// @throws Error with the driver's name and text of `code` unless it is CUDA_SUCCESS.
    void check(CudaResult code, const char* call, std::size_t bytes) const;

    const CudaFunctions& call() const { return functions_; }

  private:
    struct Loaded;
    static Loaded& loaded();

    std::string load();
    std::string describe(CudaResult code) const;

    CudaFunctions functions_{};
    int device_count_ = 0;
    std::vector<void*> contexts_;  // by ordinal, nullptr until first used
};

}  // namespace slowpath::memory
