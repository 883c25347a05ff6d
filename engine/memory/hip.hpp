// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace slowpath::memory {

// The few types of the HIP runtime API (hip/hip_runtime_api.h) that are needed; no HIP header is used, so
// that one build runs with and without a GPU. hipError_t and the enums are ints, hipDevice_t is an ordinal.
using HipResult = int;
using HipStream = void*;  // nullptr: the default stream

inline constexpr HipResult hip_success = 0;

/// The entry points, by the names that libamdhip64 exports.
struct HipFunctions {
    HipResult (*hipInit)(unsigned int flags);
    HipResult (*hipGetDeviceCount)(int* count);
    HipResult (*hipSetDevice)(int ordinal);
    HipResult (*hipDeviceSynchronize)();
    HipResult (*hipMalloc)(void** pointer, std::size_t bytes);
    HipResult (*hipFree)(void* pointer);
    HipResult (*hipHostMalloc)(void** pointer, std::size_t bytes, unsigned int flags);
    HipResult (*hipHostFree)(void* pointer);
    HipResult (*hipMallocManaged)(void** pointer, std::size_t bytes, unsigned int flags);
    HipResult (*hipMemcpy)(void* to, const void* from, std::size_t bytes, int kind);
    const char* (*hipGetErrorName)(HipResult code);
    const char* (*hipGetErrorString)(HipResult code);

    // From here on nullptr where the library is too old.
    HipResult (*hipMemGetAddressRange)(void** base, std::size_t* bytes, void* pointer);
    HipResult (*hipHostRegister)(void* pointer, std::size_t bytes, unsigned int flags);
    HipResult (*hipHostUnregister)(void* pointer);
    HipResult (*hipMallocAsync)(void** pointer, std::size_t bytes, HipStream stream);
    HipResult (*hipFreeAsync)(void* pointer, HipStream stream);
    HipResult (*hipStreamSynchronize)(HipStream stream);
    HipResult (*hipDeviceGetName)(char* name, int length, int device);
    HipResult (*hipDeviceGetPCIBusId)(char* bus_id, int length, int device);
    HipResult (*hipDeviceTotalMem)(std::size_t* bytes, int device);
    HipResult (*hipDeviceCanAccessPeer)(int* can, int device, int peer);
};

/// libamdhip64.so, loaded at run time; the variable SLOWPATH_HIP_DRIVER names another library.
class HipDriver {
  public:
    /// Load and initialise.  @return Why there is no driver to use; empty if there is one.
    std::string load();

    int device_count() const { return device_count_; }

    /// Make a device current on this thread.  @throws Error naming the call, for `bytes` bytes.
    void use(int ordinal, std::size_t bytes) const;

    /// @throws Error with the name and text of `code` unless it is hipSuccess.
    void check(HipResult code, const char* call, std::size_t bytes) const;

    const HipFunctions& call() const { return functions_; }

  private:
    std::string describe(HipResult code) const;

    HipFunctions functions_{};
    int device_count_ = 0;
};

}  // namespace slowpath::memory
