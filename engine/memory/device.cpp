// SPDX-License-Identifier: Apache-2.0
// Device memory: cuMemAlloc, as cudaMalloc does; hipMalloc.
#include "memory/gpu_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {

extern const KindEntry device_kind{
    Kind::device,
    "device",
    default_pages_only,
    true,
    [] { return gpu_unavailable(); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<SimpleGpuAllocation>(request, GpuMemory::device);
    },
};

}  // namespace slowpath::memory
