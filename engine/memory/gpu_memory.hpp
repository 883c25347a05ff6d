// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "memory/allocation.hpp"
#include "memory/gpu_driver.hpp"

namespace slowpath::memory {

/// KindEntry::unavailable of the kinds that every GPU driver allocates.
std::optional<std::string> gpu_unavailable();
/// The same for those that need more.
std::optional<std::string> gpu_unavailable(GpuFeature feature);

/// Memory whose pages move to, or live on, a GPU. Copies go through the driver. A class of its own frees.
class GpuAllocation : public Allocation {
  public:
    std::byte* base() const override { return base_; }
    void write(std::size_t at, std::span<const std::byte> from) override;
    void read(std::size_t at, std::span<std::byte> to) const override;

  protected:
    /// Makes the device current; the derived class sets base_.
    explicit GpuAllocation(const Request& request);

    /// @param suffix "device", "managed": what follows the driver's prefix.
    Observed observe_gpu(const char* suffix) const;

    GpuDriver& driver_;
    std::size_t bytes_;
    int device_;
    std::byte* base_ = nullptr;
};

/// Memory that one call of the driver allocates and another one frees.
class SimpleGpuAllocation final : public GpuAllocation {
  public:
    SimpleGpuAllocation(const Request& request, GpuMemory which);

    std::byte* host_view() const override { return which_ == GpuMemory::managed ? base_ : nullptr; }
    Observed observe() const override;
    void release() override;

  private:
    GpuMemory which_;
};

/// What the driver adds to the observations of pinned host memory.
void observe_pinned(Observed& observed, const GpuDriver& driver, int device, const std::byte* base);

}  // namespace slowpath::memory
