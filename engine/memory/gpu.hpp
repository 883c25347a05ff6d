// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/allocation.hpp"
#include "memory/error.hpp"

namespace slowpath::memory {

/// Fill one entry point of a driver; false and its name in `missing` when the library lacks it.
template <typename Function>
bool find_entry(void* library, const char* symbol, Function*& function, std::string& missing) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr) missing = symbol;
    return function != nullptr;
}

/// What a driver allocates by one call and frees by another.
enum class GpuMemory { device, host, managed, pool };

/// What not every driver or device can do.
enum class GpuFeature { host_registration, memory_pools, virtual_memory };

/// Physical memory of a device, mapped at addresses of its own.
struct GpuMapping {
    std::byte* base = nullptr;
    std::size_t bytes = 0;              ///< what was asked for, in whole granules
    std::size_t granularity_bytes = 0;  ///< the driver maps multiples of it
    unsigned long long handle = 0;
};

/// A device as the driver sees it; what the driver does not report is missing.
struct GpuDevice {
    int ordinal;
    std::optional<std::string> name;
    std::optional<std::string> bus_id;  ///< DOMAIN:BUS:DEVICE.FUNCTION: the same in every process of a node
    std::optional<std::size_t> bytes;
    /// Bus ids of the visible devices whose memory this one reaches directly (NVLink, xGMI or PCIe).
    std::optional<std::vector<std::string>> peers;
};

/// What memory kinds need of a GPU vendor's driver. All work on the device last passed to use(), on the
/// calling thread; all @throw Error naming the vendor's call, for `bytes` bytes as the caller asked for them.
/// A length of 0 is allowed.
class GpuDriver {
  public:
    virtual ~GpuDriver() = default;

    /// The driver in use: CUDA if it has a device, else HIP if that has one, else nullptr: see unavailable().
    static GpuDriver* instance();
    /// Why neither is there to use; empty if one is.
    static const std::string& unavailable();

    /// What the names of its memory kinds begin with: "cuda" or "rocm" (MPI memory allocation kinds side
    /// document 1.0, sections 3 and 4).
    virtual const char* prefix() const = 0;
    virtual int device_count() const = 0;
    /// Why the feature can't be had; nullopt if it can, on every device.
    virtual std::optional<std::string> lacks(GpuFeature feature) const = 0;

    virtual void use(int ordinal, std::size_t bytes) = 0;
    virtual std::byte* allocate(GpuMemory which, std::size_t bytes) = 0;
    virtual void free(GpuMemory which, std::byte* base, std::size_t bytes) = 0;
    /// Pin host memory that is there already, and make it known to the device.
    virtual void register_host(std::byte* base, std::size_t bytes) = 0;
    virtual void unregister_host(std::byte* base, std::size_t bytes) = 0;
    virtual GpuMapping map(int ordinal, std::size_t bytes) = 0;
    virtual void unmap(const GpuMapping& mapping, std::size_t bytes) = 0;

    /// Copies between the CPU's memory and any memory of the GPU, done when they return.
    virtual void copy_in(std::byte* to, std::span<const std::byte> from) = 0;
    virtual void copy_out(std::span<std::byte> to, const std::byte* from) = 0;

    /// Copies between memory that this driver allocated or pinned, on any of its devices: `times` of them are
    /// handed to the device in use, then all are waited for.  @return Why the driver can't; nothing is copied
    /// then.
    virtual std::optional<std::string> copy_between(std::byte* to, const std::byte* from, std::size_t bytes,
                                                    std::int64_t times);
    /// Let the device in use reach another one's memory directly, if it can; else nothing changes.
    virtual void reach(int other);

    /// Length of the driver's own range around an address; nullopt when it knows none.
    virtual std::optional<std::size_t> range_bytes(const std::byte* address) const = 0;
    virtual GpuDevice describe(int ordinal) const = 0;
};

/// What is asked of a driver: it refuses a length of 0.
inline std::size_t gpu_length(std::size_t bytes) {
    return bytes == 0 ? 1 : bytes;
}

/// Each driver, or why it can't be used; loaded at the first call.
struct GpuCandidate {
    GpuDriver* driver;  ///< nullptr: see reason
    std::string reason;
};
GpuCandidate cuda_candidate();
GpuCandidate hip_candidate();

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
