// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "memory/allocation.hpp"
#include "memory/buffer.hpp"
#include "memory/gpu.hpp"
#include "memory/mapping.hpp"
#include "memory/pages.hpp"

namespace slowpath::memory {

// Device memory: cuMemAlloc, as cudaMalloc does; hipMalloc.

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

// Device memory from the device's default pool: cuMemAllocAsync, as cudaMallocAsync does; hipMallocAsync. The
// default stream is synchronised after each call, at which the pool, whose release threshold is 0 unless the
// program changes it, gives freed memory back to the system: allocations are fresh, their addresses need not
// be.

extern const KindEntry device_pool_kind{
    Kind::device_pool,
    "device_pool",
    default_pages_only,
    true,
    [] { return gpu_unavailable(GpuFeature::memory_pools); },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<SimpleGpuAllocation>(request, GpuMemory::pool);
    },
};

// Device memory by virtual memory management: cuMemCreate, mapped by cuMemMap at addresses from
// cuMemAddressReserve; each allocation has both for itself.

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

// Managed memory: cuMemAllocManaged, as cudaMallocManaged does; hipMallocManaged. Its pages move to whoever
// uses them: write() and read() go through the driver, which leaves them where a kernel would; host_view()
// pulls them to the CPU.

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

// Pinned host memory: cuMemHostAlloc, as cudaMallocHost does; hipHostMalloc. The driver fills it at
// allocation, so that `touch` changes nothing.

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

// Host memory of the process's own that is pinned afterwards: cuMemHostRegister, as cudaHostRegister does;
// hipHostRegister. It begins on the boundary of a huge page, whatever its pages are, so that page kinds
// differ in nothing else. Pinning brings every page in, so that `touch` changes only who does.

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

// Host memory: an anonymous mapping of the process's own.

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

// Memory from MPI_Alloc_mem (MPI-4.1 section 9.2), through functions that the MPI side of the engine sets.

namespace {

void* (*allocate_memory)(std::size_t) = nullptr;
void (*release_memory)(void*) = nullptr;

class MpiMemory final : public HostAllocation {
  public:
    explicit MpiMemory(const Request& request) : bytes_(request.bytes), memory_(allocate_memory(length())) {
        if (memory_ == nullptr) throw Error("MPI_Alloc_mem", "gave no memory", bytes_);
        // Buffers of all kinds begin on a page, or what a start off one costs would be taken for what the
        // kind costs: MPICH and Open MPI hand out what malloc gives, 16 or 64 bytes behind a page.
        std::size_t room = length();
        void* aligned = memory_;
        base_ = static_cast<std::byte*>(std::align(system_page_bytes(), bytes_, aligned, room));
        touch_pages(request.touch, base_, bytes_);
    }

    std::byte* base() const override { return base_; }
    Observed observe() const override { return observe_host("mpi", bytes_); }
    void release() override { release_memory(memory_); }

  private:
    std::size_t length() const { return bytes_ + system_page_bytes(); }

    std::size_t bytes_;
    void* memory_;
    std::byte* base_ = nullptr;
};

}  // namespace

void set_mpi_allocator(void* (*allocate)(std::size_t), void (*release)(void*)) {
    allocate_memory = allocate;
    release_memory = release;
}

extern const KindEntry mpi_kind{
    Kind::mpi,
    "mpi",
    default_pages_only,
    false,
    [] {
        return allocate_memory == nullptr || release_memory == nullptr
                   ? std::optional<std::string>("this program set no MPI allocator")
                   : std::nullopt;
    },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<MpiMemory>(request);
    },
};

}  // namespace slowpath::memory
