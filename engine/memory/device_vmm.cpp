// SPDX-License-Identifier: Apache-2.0
// Device memory by virtual memory management: cuMemCreate, mapped by cuMemMap at addresses from
// cuMemAddressReserve; each allocation has both for itself.
#include "memory/gpu_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

class MappedDeviceMemory final : public GpuAllocation {
  public:
    explicit MappedDeviceMemory(const Request& request)
        : GpuAllocation(request), mapping_(driver_.map(device_, bytes_)) {
        base_ = mapping_.base;
    }

    std::byte* host_view() const override { return nullptr; }

    Observed observe() const override {
        Observed observed = observe_gpu("device");
        observed.granularity_bytes = mapping_.granularity_bytes;
        return observed;
    }

    void release() override {
        driver_.use(device_, bytes_);
        driver_.unmap(mapping_, bytes_);
    }

  private:
    GpuMapping mapping_;
};

}  // namespace

extern const KindEntry device_vmm_kind{
    Kind::device_vmm,
    "device_vmm",
    default_pages_only,
    true,
    [] { return gpu_unavailable(GpuFeature::virtual_memory); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<MappedDeviceMemory>(request);
    },
};

}  // namespace slowpath::memory
