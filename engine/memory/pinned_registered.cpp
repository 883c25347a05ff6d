// SPDX-License-Identifier: Apache-2.0
// Host memory of the process's own that is pinned afterwards: cuMemHostRegister, as cudaHostRegister does;
// hipHostRegister. It begins on the boundary of a huge page, whatever its pages are, so that page kinds
// differ in nothing else. Pinning brings every page in, so that `touch` changes only who does.
#include "memory/gpu_memory.hpp"
#include "memory/mapping.hpp"
#include "memory/pages.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

class RegisteredHostMemory final : public HostAllocation {
  public:
    explicit RegisteredHostMemory(const Request& request)
        : driver_(*GpuDriver::instance()),
          bytes_(request.bytes),
          device_(request.device),
          mapping_(request.pages, request.bytes, huge_page_bytes()) {
        try {
            driver_.use(device_, bytes_);
            touch_pages(request.touch, base(), bytes_);
            driver_.register_host(base(), bytes_);
        } catch (...) {
            mapping_.release();
            throw;
        }
    }

    std::byte* base() const override { return mapping_.base(); }

    Observed observe() const override {
        Observed observed = observe_host("", bytes_);
        observe_pinned(observed, driver_, device_, base());
        return observed;
    }

    /// Pages that stay pinned must stay mapped: after a failure the mapping is left.
    void release() override {
        driver_.use(device_, bytes_);
        driver_.unregister_host(base(), bytes_);
        mapping_.release();
    }

  private:
    GpuDriver& driver_;
    std::size_t bytes_;
    int device_;
    Mapping mapping_;
};

}  // namespace

extern const KindEntry pinned_registered_kind{
    Kind::pinned_registered,
    "pinned_registered",
    [](Pages pages) { return pages != Pages::shared; },
    true,
    [] { return gpu_unavailable(GpuFeature::host_registration); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<RegisteredHostMemory>(request);
    },
};

}  // namespace slowpath::memory
