// SPDX-License-Identifier: Apache-2.0
// CUDA's driver API as a GpuDriver.
#include <array>
#include <cstdint>

#include "memory/cuda_driver.hpp"
#include "memory/cuda_virtual.hpp"
#include "memory/gpu_driver.hpp"

namespace slowpath::memory {
namespace {

constexpr unsigned int no_flags = 0;  // under unified addressing host memory is portable and mapped anyway
constexpr unsigned int attach_global = 1;  // CU_MEM_ATTACH_GLOBAL, the default of cudaMallocManaged
constexpr CudaStream default_stream = nullptr;

CudaDevicePointer integer(const void* address) {
    return static_cast<CudaDevicePointer>(reinterpret_cast<std::uintptr_t>(address));
}

std::byte* address(CudaDevicePointer pointer) {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(pointer));
}

class CudaGpu final : public GpuDriver {
  public:
    explicit CudaGpu(CudaDriver& driver) : driver_(driver), f_(driver.call()) {}

    const char* prefix() const override { return "cuda"; }
    int device_count() const override { return driver_.device_count(); }
    std::optional<std::string> lacks(GpuFeature feature) const override;

    void use(int ordinal, std::size_t bytes) override { driver_.use(ordinal, bytes); }
    std::byte* allocate(GpuMemory which, std::size_t bytes) override;
    void free(GpuMemory which, std::byte* base, std::size_t bytes) override;

    void register_host(std::byte* base, std::size_t bytes) override {
        driver_.check(f_.cuMemHostRegister_v2(base, gpu_length(bytes), no_flags), "cuMemHostRegister_v2",
                      bytes);
    }
    void unregister_host(std::byte* base, std::size_t bytes) override {
        driver_.check(f_.cuMemHostUnregister(base), "cuMemHostUnregister", bytes);
    }
    GpuMapping map(int ordinal, std::size_t bytes) override { return cuda_map(driver_, ordinal, bytes); }
    void unmap(const GpuMapping& mapping, std::size_t bytes) override { cuda_unmap(driver_, mapping, bytes); }

    void copy_in(std::byte* to, std::span<const std::byte> from) override;
    void copy_out(std::span<std::byte> to, const std::byte* from) override;
    std::optional<std::string> copy_between(std::byte* to, const std::byte* from, std::size_t bytes,
                                            std::int64_t times) override;
    void reach(int other) override;
    std::optional<std::size_t> range_bytes(const std::byte* at) const override;
    GpuDevice describe(int ordinal) const override;

  private:
    std::optional<std::string> lacks(CudaAttribute attribute, const char* name) const;
    std::optional<std::string> bus_id(int device) const;
    std::optional<std::vector<std::string>> peers(int ordinal, int device) const;

    CudaDriver& driver_;
    const CudaFunctions& f_;
};

std::optional<std::string> CudaGpu::lacks(CudaAttribute attribute, const char* name) const {
    for (int ordinal = 0; ordinal < device_count(); ++ordinal)
        if (driver_.attribute(ordinal, attribute) == 0)
            return "CUDA device " + std::to_string(ordinal) + " lacks CU_DEVICE_ATTRIBUTE_" + name;
    return std::nullopt;
}

std::optional<std::string> CudaGpu::lacks(GpuFeature feature) const {
    const auto missing = [](const char* symbol) {
        return symbol == nullptr ? std::nullopt
                                 : std::optional(std::string("the CUDA driver lacks ") + symbol);
    };
    switch (feature) {
        case GpuFeature::host_registration:
            return missing(driver_.lacks({"cuMemHostRegister_v2", "cuMemHostUnregister"}));
        case GpuFeature::memory_pools:
            if (auto reason = missing(driver_.lacks(
                    {"cuDeviceGetAttribute", "cuMemAllocAsync", "cuMemFreeAsync", "cuStreamSynchronize"})))
                return reason;
            return lacks(cuda_memory_pools, "MEMORY_POOLS_SUPPORTED");
        case GpuFeature::virtual_memory:
            if (auto reason = missing(cuda_virtual_lacks(driver_))) return reason;
            return lacks(cuda_virtual_memory_management, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED");
    }
    throw std::logic_error("unknown GPU feature");
}

std::byte* CudaGpu::allocate(GpuMemory which, std::size_t bytes) {
    const std::size_t length = gpu_length(bytes);
    CudaDevicePointer pointer = 0;
    void* host = nullptr;
    switch (which) {
        case GpuMemory::device:
            driver_.check(f_.cuMemAlloc_v2(&pointer, length), "cuMemAlloc_v2", bytes);
            return address(pointer);
        case GpuMemory::host:
            driver_.check(f_.cuMemHostAlloc(&host, length, no_flags), "cuMemHostAlloc", bytes);
            return static_cast<std::byte*>(host);
        case GpuMemory::managed:
            driver_.check(f_.cuMemAllocManaged(&pointer, length, attach_global), "cuMemAllocManaged", bytes);
            return address(pointer);
        case GpuMemory::pool:
            driver_.check(f_.cuMemAllocAsync(&pointer, length, default_stream), "cuMemAllocAsync", bytes);
            // MPI may use the memory from any stream, which is allowed once the allocation is done.
            driver_.check(f_.cuStreamSynchronize(default_stream), "cuStreamSynchronize", bytes);
            return address(pointer);
    }
    throw std::logic_error("unknown GPU memory");
}

void CudaGpu::free(GpuMemory which, std::byte* base, std::size_t bytes) {
    switch (which) {
        case GpuMemory::device:
        case GpuMemory::managed:
            return driver_.check(f_.cuMemFree_v2(integer(base)), "cuMemFree_v2", bytes);
        case GpuMemory::host:
            return driver_.check(f_.cuMemFreeHost(base), "cuMemFreeHost", bytes);
        case GpuMemory::pool:
            driver_.check(f_.cuMemFreeAsync(integer(base), default_stream), "cuMemFreeAsync", bytes);
            return driver_.check(f_.cuStreamSynchronize(default_stream), "cuStreamSynchronize", bytes);
    }
}

void CudaGpu::copy_in(std::byte* to, std::span<const std::byte> from) {
    driver_.check(f_.cuMemcpyHtoD_v2(integer(to), from.data(), from.size()), "cuMemcpyHtoD_v2", from.size());
    // From pageable memory the call may return when the bytes are staged and not yet at their place (CUDA
    // driver API, "API synchronization behavior"); MPI may read the buffer from another stream or another
    // process.
    driver_.check(f_.cuCtxSynchronize(), "cuCtxSynchronize", from.size());
}

void CudaGpu::copy_out(std::span<std::byte> to, const std::byte* from) {
    driver_.check(f_.cuMemcpyDtoH_v2(to.data(), integer(from), to.size()), "cuMemcpyDtoH_v2", to.size());
}

std::optional<std::string> CudaGpu::copy_between(std::byte* to, const std::byte* from, std::size_t bytes,
                                                 std::int64_t times) {
    // Infers from the addresses where the bytes are (unified addressing).
    using CopyAsync = CudaResult(CudaDevicePointer, CudaDevicePointer, std::size_t, CudaStream);
    auto* const copy = reinterpret_cast<CopyAsync*>(driver_.find("cuMemcpyAsync"));
    if (copy == nullptr) return "the CUDA driver lacks cuMemcpyAsync";
    for (std::int64_t i = 0; i < times; ++i)
        driver_.check(copy(integer(to), integer(from), bytes, default_stream), "cuMemcpyAsync", bytes);
    driver_.check(f_.cuCtxSynchronize(), "cuCtxSynchronize", bytes);
    return std::nullopt;
}

void CudaGpu::reach(int other) {
    using EnablePeer = CudaResult(void*, unsigned int);
    auto* const enable = reinterpret_cast<EnablePeer*>(driver_.find("cuCtxEnablePeerAccess"));
    int device = 0;
    void* context = nullptr;
    if (enable == nullptr || f_.cuDeviceGet(&device, other) != 0 ||
        f_.cuDevicePrimaryCtxRetain(&context, device) != 0)
        return;
    // An error says that it can't, or does already: the copies work in either case.
    static_cast<void>(enable(context, no_flags));
}

std::optional<std::size_t> CudaGpu::range_bytes(const std::byte* at) const {
    CudaDevicePointer base = 0;
    std::size_t bytes = 0;
    if (f_.cuMemGetAddressRange_v2 == nullptr || f_.cuMemGetAddressRange_v2(&base, &bytes, integer(at)) != 0)
        return std::nullopt;
    return bytes;
}

std::optional<std::string> CudaGpu::bus_id(int device) const {
    std::array<char, 32> text{};
    if (f_.cuDeviceGetPCIBusId == nullptr ||
        f_.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device) != 0)
        return std::nullopt;
    return text.data();
}

std::optional<std::vector<std::string>> CudaGpu::peers(int ordinal, int device) const {
    if (f_.cuDeviceCanAccessPeer == nullptr) return std::nullopt;
    std::vector<std::string> found;
    for (int other = 0; other < device_count(); ++other) {
        int peer = 0, can = 0;
        if (other == ordinal) continue;
        if (f_.cuDeviceGet(&peer, other) != 0 || f_.cuDeviceCanAccessPeer(&can, device, peer) != 0)
            return std::nullopt;
        const auto id = bus_id(peer);
        if (can != 0 && id) found.push_back(*id);
    }
    return found;
}

GpuDevice CudaGpu::describe(int ordinal) const {
    GpuDevice described{ordinal, {}, {}, {}, {}};
    int device = 0;
    if (f_.cuDeviceGet(&device, ordinal) != 0) return described;
    std::array<char, 256> name{};
    if (f_.cuDeviceGetName != nullptr && f_.cuDeviceGetName(name.data(), 255, device) == 0)
        described.name = name.data();
    std::size_t bytes = 0;
    if (f_.cuDeviceTotalMem_v2 != nullptr && f_.cuDeviceTotalMem_v2(&bytes, device) == 0)
        described.bytes = bytes;
    described.bus_id = bus_id(device);
    described.peers = peers(ordinal, device);
    return described;
}

}  // namespace

GpuCandidate cuda_candidate() {
    CudaDriver* const driver = CudaDriver::instance();
    if (driver == nullptr) return {nullptr, CudaDriver::unavailable()};
    static auto* const gpu = new CudaGpu(*driver);  // as long-lived as the driver
    return {gpu, {}};
}

}  // namespace slowpath::memory
