// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "memory/gpu.hpp"

namespace slowpath::memory {

namespace {

constexpr CudaResult success = 0;
constexpr CudaResult error_no_device = 100;       // CUDA_ERROR_NO_DEVICE
constexpr CudaResult error_invalid_device = 101;  // CUDA_ERROR_INVALID_DEVICE

const char* driver_name() {
    const char* const named = std::getenv("SLOWPATH_CUDA_DRIVER");
    return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

/// The first entry point that the library lacks; empty when it has all.
std::string fill(void* library, CudaFunctions& f) {
    std::string missing;
    static_cast<void>(find_entry(library, "cuInit", f.cuInit, missing) &&
                      find_entry(library, "cuDeviceGetCount", f.cuDeviceGetCount, missing) &&
                      find_entry(library, "cuDeviceGet", f.cuDeviceGet, missing) &&
                      find_entry(library, "cuDevicePrimaryCtxRetain", f.cuDevicePrimaryCtxRetain, missing) &&
                      find_entry(library, "cuCtxSetCurrent", f.cuCtxSetCurrent, missing) &&
                      find_entry(library, "cuCtxSynchronize", f.cuCtxSynchronize, missing) &&
                      find_entry(library, "cuMemAlloc_v2", f.cuMemAlloc_v2, missing) &&
                      find_entry(library, "cuMemFree_v2", f.cuMemFree_v2, missing) &&
                      find_entry(library, "cuMemHostAlloc", f.cuMemHostAlloc, missing) &&
                      find_entry(library, "cuMemFreeHost", f.cuMemFreeHost, missing) &&
                      find_entry(library, "cuMemAllocManaged", f.cuMemAllocManaged, missing) &&
                      find_entry(library, "cuMemcpyHtoD_v2", f.cuMemcpyHtoD_v2, missing) &&
                      find_entry(library, "cuMemcpyDtoH_v2", f.cuMemcpyDtoH_v2, missing) &&
                      find_entry(library, "cuGetErrorName", f.cuGetErrorName, missing) &&
                      find_entry(library, "cuGetErrorString", f.cuGetErrorString, missing));
    return missing;
}

/// What drivers from CUDA 11.2 on have; each caller sees to what older ones lack.
void fill_optional(void* library, CudaFunctions& f) {
    std::string missing;
    find_entry(library, "cuDeviceGetAttribute", f.cuDeviceGetAttribute, missing);
    find_entry(library, "cuDeviceGetName", f.cuDeviceGetName, missing);
    find_entry(library, "cuDeviceGetPCIBusId", f.cuDeviceGetPCIBusId, missing);
    find_entry(library, "cuDeviceTotalMem_v2", f.cuDeviceTotalMem_v2, missing);
    find_entry(library, "cuDeviceCanAccessPeer", f.cuDeviceCanAccessPeer, missing);
    find_entry(library, "cuMemGetAddressRange_v2", f.cuMemGetAddressRange_v2, missing);
    find_entry(library, "cuMemHostRegister_v2", f.cuMemHostRegister_v2, missing);
    find_entry(library, "cuMemHostUnregister", f.cuMemHostUnregister, missing);
    find_entry(library, "cuMemAllocAsync", f.cuMemAllocAsync, missing);
    find_entry(library, "cuMemFreeAsync", f.cuMemFreeAsync, missing);
    find_entry(library, "cuStreamSynchronize", f.cuStreamSynchronize, missing);
    find_entry(library, "cuMemGetAllocationGranularity", f.cuMemGetAllocationGranularity, missing);
    find_entry(library, "cuMemCreate", f.cuMemCreate, missing);
    find_entry(library, "cuMemRelease", f.cuMemRelease, missing);
    find_entry(library, "cuMemAddressReserve", f.cuMemAddressReserve, missing);
    find_entry(library, "cuMemAddressFree", f.cuMemAddressFree, missing);
    find_entry(library, "cuMemMap", f.cuMemMap, missing);
    find_entry(library, "cuMemUnmap", f.cuMemUnmap, missing);
    find_entry(library, "cuMemSetAccess", f.cuMemSetAccess, missing);
}

}  // namespace

struct CudaDriver::Loaded {
    CudaDriver driver;
    std::string reason;
};

CudaDriver::Loaded& CudaDriver::loaded() {
    // Never unloaded: the driver keeps threads and exit handlers of its own.
    static Loaded* const once = [] {
        auto* const fresh = new Loaded;
        fresh->reason = fresh->driver.load();
        return fresh;
    }();
    return *once;
}

CudaDriver* CudaDriver::instance() {
    Loaded& found = loaded();
    return found.reason.empty() ? &found.driver : nullptr;
}

const std::string& CudaDriver::unavailable() {
    return loaded().reason;
}

std::string CudaDriver::load() {
    const char* const name = driver_name();
    library_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) return std::string("no CUDA driver (") + dlerror() + ")";
    if (const std::string missing = fill(library_, functions_); !missing.empty())
        return std::string("no usable CUDA driver (") + name + " lacks " + missing + ")";
    fill_optional(library_, functions_);
    CudaResult code = functions_.cuInit(0);
    const char* call = "cuInit";
    if (code == success) {
        call = "cuDeviceGetCount";
        code = functions_.cuDeviceGetCount(&device_count_);
    }
    if (code == error_no_device || (code == success && device_count_ == 0))
        return "CUDA driver found but no device";
    if (code != success) return std::string("CUDA driver found but ") + call + " failed: " + describe(code);
    contexts_.resize(static_cast<std::size_t>(device_count_));
    return {};
}

void CudaDriver::use(int ordinal, std::size_t bytes) {
    if (ordinal < 0 || ordinal >= device_count_)
        throw Error("cuDeviceGet",
                    "device " + std::to_string(ordinal) + " of " + std::to_string(device_count_) + ": " +
                        describe(error_invalid_device),
                    bytes);
    void*& context = contexts_[static_cast<std::size_t>(ordinal)];
    if (context == nullptr) {
        int device = 0;
        check(functions_.cuDeviceGet(&device, ordinal), "cuDeviceGet", bytes);
        check(functions_.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain", bytes);
    }
    check(functions_.cuCtxSetCurrent(context), "cuCtxSetCurrent", bytes);
}

void* CudaDriver::find(const char* symbol) const {
    return dlsym(library_, symbol);
}

const char* CudaDriver::lacks(std::initializer_list<const char*> symbols) const {
    for (const char* const symbol : symbols)
        if (find(symbol) == nullptr) return symbol;
    return nullptr;
}

std::optional<int> CudaDriver::attribute(int ordinal, CudaAttribute which) const {
    int device = 0, value = 0;
    if (functions_.cuDeviceGetAttribute == nullptr || functions_.cuDeviceGet(&device, ordinal) != success ||
        functions_.cuDeviceGetAttribute(&value, which, device) != success)
        return std::nullopt;
    return value;
}

void CudaDriver::check(CudaResult code, const char* call, std::size_t bytes) const {
    if (code != success) throw Error(call, describe(code), bytes);
}

std::string CudaDriver::describe(CudaResult code) const {
    const char* name = nullptr;
    const char* text = nullptr;
    functions_.cuGetErrorName(code, &name);
    functions_.cuGetErrorString(code, &text);
    std::string all = name != nullptr ? name : "CUDA error " + std::to_string(code);
    if (text != nullptr) all += std::string(", ") + text;
    return all;
}

// CUDA driver API, "Virtual Memory Management".

namespace {

constexpr int pinned = 1;             // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int on_device = 1;          // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int file_handles = 1;       // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int access_read_write = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int least_granules = 0;     // CU_MEM_ALLOC_GRANULARITY_MINIMUM

/// Such that other processes and network cards may reach the memory, where the device can do that: without a
/// handle to share, no MPI library could do better than stage it through the host.
CudaAllocationProperties properties_for(const CudaDriver& driver, int ordinal) {
    CudaAllocationProperties properties{};
    properties.type = pinned;
    properties.location = {on_device, ordinal};
    if (driver.attribute(ordinal, cuda_posix_file_handles).value_or(0) != 0)
        properties.handle_types = file_handles;
    if (driver.attribute(ordinal, cuda_direct_rdma_with_virtual_memory).value_or(0) != 0)
        properties.gpu_direct_rdma_capable = 1;
    return properties;
}

CudaDevicePointer pointer(const GpuMapping& mapping) {
    return static_cast<CudaDevicePointer>(reinterpret_cast<std::uintptr_t>(mapping.base));
}

/// Undoes what was done of a mapping; the results count for the last caller only.
struct Undo {
    const CudaFunctions& f;
    const GpuMapping& mapping;
    bool mapped = false;
    bool created = false;
    ~Undo() {
        if (mapped) f.cuMemUnmap(pointer(mapping), mapping.bytes);
        if (created) f.cuMemRelease(mapping.handle);
        if (mapping.base != nullptr) f.cuMemAddressFree(pointer(mapping), mapping.bytes);
    }
};

void fill(const CudaDriver& driver, int ordinal, std::size_t bytes, GpuMapping& mapping, Undo& undo) {
    const CudaFunctions& f = driver.call();
    const CudaAllocationProperties properties = properties_for(driver, ordinal);
    const CudaAccess access{{on_device, ordinal}, access_read_write};
    driver.check(f.cuMemGetAllocationGranularity(&mapping.granularity_bytes, &properties, least_granules),
                 "cuMemGetAllocationGranularity", bytes);
    const std::size_t granules = (gpu_length(bytes) - 1) / mapping.granularity_bytes + 1;
    mapping.bytes = granules * mapping.granularity_bytes;
    CudaDevicePointer reserved = 0;
    driver.check(f.cuMemAddressReserve(&reserved, mapping.bytes, 0, 0, 0), "cuMemAddressReserve", bytes);
    mapping.base = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(reserved));
    driver.check(f.cuMemCreate(&mapping.handle, mapping.bytes, &properties, 0), "cuMemCreate", bytes);
    undo.created = true;
    driver.check(f.cuMemMap(reserved, mapping.bytes, 0, mapping.handle, 0), "cuMemMap", bytes);
    undo.mapped = true;
    driver.check(f.cuMemSetAccess(reserved, mapping.bytes, &access, 1), "cuMemSetAccess", bytes);
}

}  // namespace

const char* cuda_virtual_lacks(const CudaDriver& driver) {
    return driver.lacks({"cuDeviceGetAttribute", "cuMemGetAllocationGranularity", "cuMemAddressReserve",
                         "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
                         "cuMemAddressFree"});
}

GpuMapping cuda_map(const CudaDriver& driver, int ordinal, std::size_t bytes) {
    GpuMapping mapping;
    Undo undo{driver.call(), mapping};
    fill(driver, ordinal, bytes, mapping, undo);
    const GpuMapping done = mapping;
    undo.mapped = undo.created = false;
    mapping.base = nullptr;
    return done;
}

void cuda_unmap(const CudaDriver& driver, const GpuMapping& mapping, std::size_t bytes) {
    const CudaFunctions& f = driver.call();
    const CudaResult unmapped = f.cuMemUnmap(pointer(mapping), mapping.bytes);
    const CudaResult released = f.cuMemRelease(mapping.handle);
    const CudaResult freed = f.cuMemAddressFree(pointer(mapping), mapping.bytes);
    driver.check(unmapped, "cuMemUnmap", bytes);
    driver.check(released, "cuMemRelease", bytes);
    driver.check(freed, "cuMemAddressFree", bytes);
}

// CUDA's driver API as a GpuDriver.

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
