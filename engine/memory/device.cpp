// SPDX-License-Identifier: Apache-2.0
// Device memory: cuMemAlloc, as cudaMalloc does.
#include "memory/cuda_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

class DeviceMemory final : public CudaMemory {
  public:
    explicit DeviceMemory(const Request& request) : CudaMemory(request) {
        driver_.check(driver_.call().cuMemAlloc_v2(&pointer_, cuda_length(bytes_)), "cuMemAlloc_v2", bytes_);
    }

    std::byte* host_view() const override { return nullptr; }
    Observed observe() const override { return observe_cuda("cuda:device"); }
};

}  // namespace

extern const KindEntry device_kind{
    Kind::device,
    "device",
    cuda_unavailable,
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<DeviceMemory>(request);
    },
};

}  // namespace slowpath::memory
