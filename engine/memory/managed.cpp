// SPDX-License-Identifier: Apache-2.0
// Managed memory: cuMemAllocManaged, as cudaMallocManaged does; hipMallocManaged. Its pages move to whoever
// uses them: write() and read() go through the driver, which leaves them where a kernel would; host_view()
// pulls them to the CPU.
#include "memory/gpu_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {

extern const KindEntry managed_kind{
    Kind::managed,
    "managed",
    default_pages_only,
    true,
    [] { return gpu_unavailable(); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<SimpleGpuAllocation>(request, GpuMemory::managed);
    },
};

}  // namespace slowpath::memory
