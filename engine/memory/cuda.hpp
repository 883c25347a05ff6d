// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "memory/error.hpp"
#include "memory/gpu.hpp"

namespace slowpath::memory {

// The few types of the CUDA driver API (cuda.h) that are needed; no CUDA header is used, so that one build
// runs with and without a GPU. CUresult and the enums are ints, contexts are opaque pointers.
using CudaResult = int;
using CudaDevicePointer = unsigned long long;
using CudaStream = void*;  // nullptr: the context's default stream
using CudaAllocationHandle = unsigned long long;

/// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc; their layout has been the same since CUDA 10.2.
struct CudaLocation {
    int type;
    int id;
};
struct CudaAllocationProperties {
    int type;
    int handle_types;
    CudaLocation location;
    void* windows_only;
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
};
struct CudaAccess {
    CudaLocation location;
    int flags;
};
static_assert(sizeof(CudaAllocationProperties) == 32 && sizeof(CudaAccess) == 12);

/// Values of CUdevice_attribute.
enum CudaAttribute : int {
    cuda_virtual_memory_management = 102,
    cuda_posix_file_handles = 103,
    cuda_direct_rdma_with_virtual_memory = 110,
    cuda_memory_pools = 115,
};

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

    // From here on nullptr where the driver is too old: CudaDriver::lacks() says which.
    CudaResult (*cuDeviceGetAttribute)(int* value, int attribute, int device);
    CudaResult (*cuDeviceGetName)(char* name, int length, int device);
    CudaResult (*cuDeviceGetPCIBusId)(char* bus_id, int length, int device);
    CudaResult (*cuDeviceTotalMem_v2)(std::size_t* bytes, int device);
    CudaResult (*cuDeviceCanAccessPeer)(int* can, int device, int peer);
    CudaResult (*cuMemGetAddressRange_v2)(CudaDevicePointer* base, std::size_t* bytes,
                                          CudaDevicePointer pointer);
    CudaResult (*cuMemHostRegister_v2)(void* pointer, std::size_t bytes, unsigned int flags);
    CudaResult (*cuMemHostUnregister)(void* pointer);
    CudaResult (*cuMemAllocAsync)(CudaDevicePointer* pointer, std::size_t bytes, CudaStream stream);
    CudaResult (*cuMemFreeAsync)(CudaDevicePointer pointer, CudaStream stream);
    CudaResult (*cuStreamSynchronize)(CudaStream stream);
    CudaResult (*cuMemGetAllocationGranularity)(std::size_t* bytes,
                                                const CudaAllocationProperties* properties, int option);
    CudaResult (*cuMemCreate)(CudaAllocationHandle* handle, std::size_t bytes,
                              const CudaAllocationProperties* properties, unsigned long long flags);
    CudaResult (*cuMemRelease)(CudaAllocationHandle handle);
    CudaResult (*cuMemAddressReserve)(CudaDevicePointer* pointer, std::size_t bytes, std::size_t alignment,
                                      CudaDevicePointer wanted, unsigned long long flags);
    CudaResult (*cuMemAddressFree)(CudaDevicePointer pointer, std::size_t bytes);
    CudaResult (*cuMemMap)(CudaDevicePointer pointer, std::size_t bytes, std::size_t offset,
                           CudaAllocationHandle handle, unsigned long long flags);
    CudaResult (*cuMemUnmap)(CudaDevicePointer pointer, std::size_t bytes);
    CudaResult (*cuMemSetAccess)(CudaDevicePointer pointer, std::size_t bytes, const CudaAccess* accesses,
                                 std::size_t count);
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

    /// The entry point as the library exports it; nullptr if it has none.  For calls that few need.
    void* find(const char* symbol) const;

    /// The first of these entry points that the driver lacks; nullptr if it has all.
    const char* lacks(std::initializer_list<const char*> symbols) const;

    /// An attribute of a device; nullopt when the driver does not know it.
    std::optional<int> attribute(int ordinal, CudaAttribute which) const;

    const CudaFunctions& call() const { return functions_; }

  private:
    struct Loaded;
    static Loaded& loaded();

    std::string load();
    std::string describe(CudaResult code) const;

    void* library_ = nullptr;
    CudaFunctions functions_{};
    int device_count_ = 0;
    std::vector<void*> contexts_;  // by ordinal, nullptr until first used
};

/// The first entry point of virtual memory management that the driver lacks; nullptr if it has all.
const char* cuda_virtual_lacks(const CudaDriver& driver);

/// Reserve addresses, create physical memory of the device, and map it there for that device to read and
/// write.  Nothing is left behind on failure.  @throws Error.
GpuMapping cuda_map(const CudaDriver& driver, int ordinal, std::size_t bytes);

/// @throws Error of the first call that fails, after all were tried.
void cuda_unmap(const CudaDriver& driver, const GpuMapping& mapping, std::size_t bytes);

}  // namespace slowpath::memory
