// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: cuMemHostAlloc, as cudaMallocHost does; hipHostMalloc. The driver fills it at
// allocation, so that `touch` changes nothing.
#include "memory/gpu_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

class PinnedHostMemory final : public HostAllocation {
  public:
    explicit PinnedHostMemory(const Request& request)
        : driver_(*GpuDriver::instance()), bytes_(request.bytes), device_(request.device) {
        driver_.use(device_, bytes_);
        base_ = driver_.allocate(GpuMemory::host, bytes_);
    }

    std::byte* base() const override { return base_; }

    Observed observe() const override {
        Observed observed = observe_host("", bytes_);
        observe_pinned(observed, driver_, device_, base_);
        return observed;
    }

    void release() override {
        driver_.use(device_, bytes_);
        driver_.free(GpuMemory::host, base_, bytes_);
    }

  private:
    GpuDriver& driver_;
    std::size_t bytes_;
    int device_;
    std::byte* base_ = nullptr;
};

}  // namespace

extern const KindEntry pinned_host_kind{
    Kind::pinned_host,
    "pinned_host",
    default_pages_only,
    true,
    [] { return gpu_unavailable(); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<PinnedHostMemory>(request);
    },
};

}  // namespace slowpath::memory
