// SPDX-License-Identifier: Apache-2.0
// Host memory: an anonymous mapping of the process's own.
#include "memory/mapping.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

class HostMemory final : public HostAllocation {
  public:
    explicit HostMemory(const Request& request)
        : bytes_(request.bytes), mapping_(request.pages, request.bytes) {
        touch_pages(request.touch, base(), bytes_);
    }

    std::byte* base() const override { return mapping_.base(); }
    Observed observe() const override { return observe_host("system", bytes_); }
    void release() override { mapping_.release(); }

  private:
    std::size_t bytes_;
    Mapping mapping_;
};

}  // namespace

extern const KindEntry host_kind{
    Kind::host,
    "host",
    [](Pages) { return true; },
    false,
    [] { return std::optional<std::string>(); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<HostMemory>(request);
    },
};

}  // namespace slowpath::memory
