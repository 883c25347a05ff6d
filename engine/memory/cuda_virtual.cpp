// SPDX-License-Identifier: Apache-2.0
// CUDA driver API, "Virtual Memory Management".
#include "memory/cuda_virtual.hpp"

#include <cstdint>

namespace slowpath::memory {
namespace {

constexpr int pinned = 1;             // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int on_device = 1;          // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int file_handles = 1;       // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int access_read_write = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int least_granules = 0;     // CU_MEM_ALLOC_GRANULARITY_MINIMUM

/// Such that other processes and network cards may reach the memory, where the device can do that: without a
/// handle to share, no MPI library could do better than stage it through the host.
CudaAllocationProperties properties_for(const CudaDriver& driver, int ordinal) {
    CudaAllocationProperties properties{};
    properties.type = pinned;
    properties.location = {on_device, ordinal};
    if (driver.attribute(ordinal, cuda_posix_file_handles).value_or(0) != 0)
        properties.handle_types = file_handles;
    if (driver.attribute(ordinal, cuda_direct_rdma_with_virtual_memory).value_or(0) != 0)
        properties.gpu_direct_rdma_capable = 1;
    return properties;
}

CudaDevicePointer pointer(const GpuMapping& mapping) {
    return static_cast<CudaDevicePointer>(reinterpret_cast<std::uintptr_t>(mapping.base));
}

/// Undoes what was done of a mapping; the results count for the last caller only.
struct Undo {
    const CudaFunctions& f;
    const GpuMapping& mapping;
    bool mapped = false;
    bool created = false;
    ~Undo() {
        if (mapped) f.cuMemUnmap(pointer(mapping), mapping.bytes);
        if (created) f.cuMemRelease(mapping.handle);
        if (mapping.base != nullptr) f.cuMemAddressFree(pointer(mapping), mapping.bytes);
    }
};

void fill(const CudaDriver& driver, int ordinal, std::size_t bytes, GpuMapping& mapping, Undo& undo) {
    const CudaFunctions& f = driver.call();
    const CudaAllocationProperties properties = properties_for(driver, ordinal);
    const CudaAccess access{{on_device, ordinal}, access_read_write};
    driver.check(f.cuMemGetAllocationGranularity(&mapping.granularity_bytes, &properties, least_granules),
                 "cuMemGetAllocationGranularity", bytes);
    const std::size_t granules = (gpu_length(bytes) - 1) / mapping.granularity_bytes + 1;
    mapping.bytes = granules * mapping.granularity_bytes;
    CudaDevicePointer reserved = 0;
    driver.check(f.cuMemAddressReserve(&reserved, mapping.bytes, 0, 0, 0), "cuMemAddressReserve", bytes);
    mapping.base = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(reserved));
    driver.check(f.cuMemCreate(&mapping.handle, mapping.bytes, &properties, 0), "cuMemCreate", bytes);
    undo.created = true;
    driver.check(f.cuMemMap(reserved, mapping.bytes, 0, mapping.handle, 0), "cuMemMap", bytes);
    undo.mapped = true;
    driver.check(f.cuMemSetAccess(reserved, mapping.bytes, &access, 1), "cuMemSetAccess", bytes);
}

}  // namespace

const char* cuda_virtual_lacks(const CudaDriver& driver) {
    return driver.lacks({"cuDeviceGetAttribute", "cuMemGetAllocationGranularity", "cuMemAddressReserve",
                         "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
                         "cuMemAddressFree"});
}

GpuMapping cuda_map(const CudaDriver& driver, int ordinal, std::size_t bytes) {
    GpuMapping mapping;
    Undo undo{driver.call(), mapping};
    fill(driver, ordinal, bytes, mapping, undo);
    const GpuMapping done = mapping;
    undo.mapped = undo.created = false;
    mapping.base = nullptr;
    return done;
}

void cuda_unmap(const CudaDriver& driver, const GpuMapping& mapping, std::size_t bytes) {
    const CudaFunctions& f = driver.call();
    const CudaResult unmapped = f.cuMemUnmap(pointer(mapping), mapping.bytes);
    const CudaResult released = f.cuMemRelease(mapping.handle);
    const CudaResult freed = f.cuMemAddressFree(pointer(mapping), mapping.bytes);
    driver.check(unmapped, "cuMemUnmap", bytes);
    driver.check(released, "cuMemRelease", bytes);
    driver.check(freed, "cuMemAddressFree", bytes);
}

}  // namespace slowpath::memory
