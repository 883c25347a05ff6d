// SPDX-License-Identifier: Apache-2.0
// Device memory from the device's default pool: cuMemAllocAsync, as cudaMallocAsync does; hipMallocAsync. The
// default stream is synchronised after each call, at which the pool, whose release threshold is 0 unless the
// program changes it, gives freed memory back to the system: allocations are fresh, their addresses need not
// be.
#include "memory/gpu_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {

extern const KindEntry device_pool_kind{
    Kind::device_pool,
    "device_pool",
    default_pages_only,
    true,
    [] { return gpu_unavailable(GpuFeature::memory_pools); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<SimpleGpuAllocation>(request, GpuMemory::pool);
    },
};

}  // namespace slowpath::memory
