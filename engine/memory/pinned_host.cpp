// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: cuMemHostAlloc, as cudaMallocHost does. The driver fills it at allocation, so that
// `touch` changes nothing.
#include "memory/cuda_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

constexpr unsigned int no_flags = 0;  // under unified addressing the memory is portable and mapped anyway

class PinnedHostMemory final : public HostAllocation {
  public:
    explicit PinnedHostMemory(const Request& request)
        : driver_(*CudaDriver::instance()), bytes_(request.bytes), device_(request.device) {
        driver_.use(device_, bytes_);
        void* pointer = nullptr;
        driver_.check(driver_.call().cuMemHostAlloc(&pointer, cuda_length(bytes_), no_flags),
                      "cuMemHostAlloc", bytes_);
        base_ = static_cast<std::byte*>(pointer);
    }

    std::byte* base() const override { return base_; }

    Observed observe() const override {
        Observed observed = observe_host("cuda:host", bytes_);
        observed.device = device_;
        return observed;
    }

    void release() override {
        driver_.use(device_, bytes_);
        driver_.check(driver_.call().cuMemFreeHost(base_), "cuMemFreeHost", bytes_);
    }

  private:
    CudaDriver& driver_;
    std::size_t bytes_;
    int device_;
    std::byte* base_ = nullptr;
};

}  // namespace

extern const KindEntry pinned_host_kind{
    Kind::pinned_host,
    "pinned_host",
    cuda_unavailable,
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<PinnedHostMemory>(request);
    },
};

}  // namespace slowpath::memory
