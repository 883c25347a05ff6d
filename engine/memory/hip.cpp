// SPDX-License-Identifier: Apache-2.0
#include "memory/hip.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "memory/error.hpp"
#include "memory/gpu.hpp"

namespace slowpath::memory {

namespace {

constexpr HipResult hip_error_no_device = 100;       // hipErrorNoDevice
constexpr HipResult hip_error_invalid_device = 101;  // hipErrorInvalidDevice

/// The first entry point that the library lacks of those that it must have; empty when it has all.
std::string fill(void* library, HipFunctions& f) {
    std::string missing, optional;
    static_cast<void>(find_entry(library, "hipInit", f.hipInit, missing) &&
                      find_entry(library, "hipGetDeviceCount", f.hipGetDeviceCount, missing) &&
                      find_entry(library, "hipSetDevice", f.hipSetDevice, missing) &&
                      find_entry(library, "hipDeviceSynchronize", f.hipDeviceSynchronize, missing) &&
                      find_entry(library, "hipMalloc", f.hipMalloc, missing) &&
                      find_entry(library, "hipFree", f.hipFree, missing) &&
                      find_entry(library, "hipHostMalloc", f.hipHostMalloc, missing) &&
                      find_entry(library, "hipHostFree", f.hipHostFree, missing) &&
                      find_entry(library, "hipMallocManaged", f.hipMallocManaged, missing) &&
                      find_entry(library, "hipMemcpy", f.hipMemcpy, missing) &&
                      find_entry(library, "hipGetErrorName", f.hipGetErrorName, missing) &&
                      find_entry(library, "hipGetErrorString", f.hipGetErrorString, missing));
    find_entry(library, "hipMemGetAddressRange", f.hipMemGetAddressRange, optional);
    find_entry(library, "hipHostRegister", f.hipHostRegister, optional);
    find_entry(library, "hipHostUnregister", f.hipHostUnregister, optional);
    find_entry(library, "hipMallocAsync", f.hipMallocAsync, optional);
    find_entry(library, "hipFreeAsync", f.hipFreeAsync, optional);
    find_entry(library, "hipStreamSynchronize", f.hipStreamSynchronize, optional);
    find_entry(library, "hipDeviceGetName", f.hipDeviceGetName, optional);
    find_entry(library, "hipDeviceGetPCIBusId", f.hipDeviceGetPCIBusId, optional);
    find_entry(library, "hipDeviceTotalMem", f.hipDeviceTotalMem, optional);
    find_entry(library, "hipDeviceCanAccessPeer", f.hipDeviceCanAccessPeer, optional);
    return missing;
}

/// The library, or nullptr and why not.  One that the MPI library brought along comes first: two versions
/// of HIP in one process would not know each other's memory.
void* open_library(std::string& reason) {
    const char* const named = std::getenv("SLOWPATH_HIP_DRIVER");
    if (named != nullptr && *named != '\0') {
        void* const library = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
        if (library == nullptr) reason = dlerror();
        return library;
    }
    constexpr std::array names{"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    for (const int only_loaded : {RTLD_NOLOAD, 0})
        for (const char* const name : names)
            if (void* const library = dlopen(name, RTLD_NOW | RTLD_GLOBAL | only_loaded)) return library;
    dlopen(names[0], RTLD_NOW);
    const char* const text = dlerror();
    reason = text != nullptr ? text : names[0];
    return nullptr;
}

}  // namespace

std::string HipDriver::load() {
    std::string reason;
    void* const library = open_library(reason);
    if (library == nullptr) return "no HIP driver (" + reason + ")";
    if (const std::string missing = fill(library, functions_); !missing.empty())
        return "no usable HIP driver (it lacks " + missing + ")";
    HipResult code = functions_.hipInit(0);
    const char* call = "hipInit";
    if (code == hip_success) {
        call = "hipGetDeviceCount";
        code = functions_.hipGetDeviceCount(&device_count_);
    }
    if (code == hip_error_no_device || (code == hip_success && device_count_ == 0))
        return "HIP driver found but no device";
    if (code != hip_success)
        return std::string("HIP driver found but ") + call + " failed: " + describe(code);
    return {};
}

void HipDriver::use(int ordinal, std::size_t bytes) const {
    if (ordinal < 0 || ordinal >= device_count_)
        throw Error("hipSetDevice",
                    "device " + std::to_string(ordinal) + " of " + std::to_string(device_count_) + ": " +
                        describe(hip_error_invalid_device),
                    bytes);
    check(functions_.hipSetDevice(ordinal), "hipSetDevice", bytes);
}

void HipDriver::check(HipResult code, const char* call, std::size_t bytes) const {
    if (code != hip_success) throw Error(call, describe(code), bytes);
}

std::string HipDriver::describe(HipResult code) const {
    const char* const name = functions_.hipGetErrorName(code);
    const char* const text = functions_.hipGetErrorString(code);
    std::string all = name != nullptr ? name : "HIP error " + std::to_string(code);
    if (text != nullptr) all += std::string(", ") + text;
    return all;
}

// AMD's HIP runtime as a GpuDriver. Not run on hardware so far: docs/results/gpu.md.

namespace {

constexpr unsigned int hip_no_flags = 0;
constexpr unsigned int hip_attach_global = 1;  // hipMemAttachGlobal
constexpr int host_to_device = 1;              // hipMemcpyHostToDevice
constexpr int device_to_host = 2;              // hipMemcpyDeviceToHost
constexpr HipStream hip_default_stream = nullptr;

class HipGpu final : public GpuDriver {
  public:
    /// Why there is no driver to use; empty if there is one.
    std::string load() { return driver_.load(); }

    const char* prefix() const override { return "rocm"; }
    int device_count() const override { return driver_.device_count(); }
    std::optional<std::string> lacks(GpuFeature feature) const override;

    void use(int ordinal, std::size_t bytes) override { driver_.use(ordinal, bytes); }
    std::byte* allocate(GpuMemory which, std::size_t bytes) override;
    void free(GpuMemory which, std::byte* base, std::size_t bytes) override;

    void register_host(std::byte* base, std::size_t bytes) override {
        driver_.check(f_.hipHostRegister(base, gpu_length(bytes), hip_no_flags), "hipHostRegister", bytes);
    }
    void unregister_host(std::byte* base, std::size_t bytes) override {
        driver_.check(f_.hipHostUnregister(base), "hipHostUnregister", bytes);
    }
    GpuMapping map(int, std::size_t bytes) override { throw Error("map", no_virtual_memory, bytes); }
    void unmap(const GpuMapping&, std::size_t bytes) override {
        throw Error("map", no_virtual_memory, bytes);
    }

    void copy_in(std::byte* to, std::span<const std::byte> from) override;
    void copy_out(std::span<std::byte> to, const std::byte* from) override;
    std::optional<std::size_t> range_bytes(const std::byte* at) const override;
    GpuDevice describe(int ordinal) const override;

  private:
    static constexpr const char* no_virtual_memory = "device_vmm is not implemented for HIP";

    std::optional<std::string> bus_id(int ordinal) const;
    std::optional<std::vector<std::string>> peers(int ordinal) const;

    HipDriver driver_;
    const HipFunctions& f_ = driver_.call();
};

std::optional<std::string> HipGpu::lacks(GpuFeature feature) const {
    const auto needs = [](bool has, const char* symbol) {
        return has ? std::nullopt : std::optional(std::string("the HIP driver lacks ") + symbol);
    };
    switch (feature) {
        case GpuFeature::host_registration:
            return needs(f_.hipHostRegister && f_.hipHostUnregister, "hipHostRegister");
        case GpuFeature::memory_pools:
            return needs(f_.hipMallocAsync && f_.hipFreeAsync && f_.hipStreamSynchronize, "hipMallocAsync");
        case GpuFeature::virtual_memory:
            return no_virtual_memory;
    }
    throw std::logic_error("unknown GPU feature");
}

std::byte* HipGpu::allocate(GpuMemory which, std::size_t bytes) {
    const std::size_t length = gpu_length(bytes);
    void* pointer = nullptr;
    switch (which) {
        case GpuMemory::device:
            driver_.check(f_.hipMalloc(&pointer, length), "hipMalloc", bytes);
            break;
        case GpuMemory::host:
            driver_.check(f_.hipHostMalloc(&pointer, length, hip_no_flags), "hipHostMalloc", bytes);
            break;
        case GpuMemory::managed:
            driver_.check(f_.hipMallocManaged(&pointer, length, hip_attach_global), "hipMallocManaged",
                          bytes);
            break;
        case GpuMemory::pool:
            driver_.check(f_.hipMallocAsync(&pointer, length, hip_default_stream), "hipMallocAsync", bytes);
            driver_.check(f_.hipStreamSynchronize(hip_default_stream), "hipStreamSynchronize", bytes);
            break;
    }
    return static_cast<std::byte*>(pointer);
}

void HipGpu::free(GpuMemory which, std::byte* base, std::size_t bytes) {
    switch (which) {
        case GpuMemory::device:
        case GpuMemory::managed:
            return driver_.check(f_.hipFree(base), "hipFree", bytes);
        case GpuMemory::host:
            return driver_.check(f_.hipHostFree(base), "hipHostFree", bytes);
        case GpuMemory::pool:
            driver_.check(f_.hipFreeAsync(base, hip_default_stream), "hipFreeAsync", bytes);
            return driver_.check(f_.hipStreamSynchronize(hip_default_stream), "hipStreamSynchronize", bytes);
    }
}

void HipGpu::copy_in(std::byte* to, std::span<const std::byte> from) {
    driver_.check(f_.hipMemcpy(to, from.data(), from.size(), host_to_device), "hipMemcpy", from.size());
    driver_.check(f_.hipDeviceSynchronize(), "hipDeviceSynchronize", from.size());
}

void HipGpu::copy_out(std::span<std::byte> to, const std::byte* from) {
    driver_.check(f_.hipMemcpy(to.data(), from, to.size(), device_to_host), "hipMemcpy", to.size());
}

std::optional<std::size_t> HipGpu::range_bytes(const std::byte* at) const {
    void* base = nullptr;
    std::size_t bytes = 0;
    if (f_.hipMemGetAddressRange == nullptr ||
        f_.hipMemGetAddressRange(&base, &bytes, const_cast<std::byte*>(at)) != hip_success)
        return std::nullopt;
    return bytes;
}

std::optional<std::string> HipGpu::bus_id(int ordinal) const {
    std::array<char, 32> text{};
    if (f_.hipDeviceGetPCIBusId == nullptr ||
        f_.hipDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal) != hip_success)
        return std::nullopt;
    return text.data();
}

std::optional<std::vector<std::string>> HipGpu::peers(int ordinal) const {
    if (f_.hipDeviceCanAccessPeer == nullptr) return std::nullopt;
    std::vector<std::string> found;
    for (int other = 0; other < device_count(); ++other) {
        int can = 0;
        if (other == ordinal) continue;
        if (f_.hipDeviceCanAccessPeer(&can, ordinal, other) != hip_success) return std::nullopt;
        const auto id = bus_id(other);
        if (can != 0 && id) found.push_back(*id);
    }
    return found;
}

GpuDevice HipGpu::describe(int ordinal) const {
    GpuDevice described{ordinal, {}, bus_id(ordinal), {}, peers(ordinal)};
    std::array<char, 256> name{};
    if (f_.hipDeviceGetName != nullptr && f_.hipDeviceGetName(name.data(), 255, ordinal) == hip_success)
        described.name = name.data();
    std::size_t bytes = 0;
    if (f_.hipDeviceTotalMem != nullptr && f_.hipDeviceTotalMem(&bytes, ordinal) == hip_success)
        described.bytes = bytes;
    return described;
}

}  // namespace

GpuCandidate hip_candidate() {
    // Never unloaded: the library keeps threads and exit handlers of its own.
    static auto* const gpu = new HipGpu;
    static const std::string reason = gpu->load();
    return {reason.empty() ? gpu : nullptr, reason};
}

}  // namespace slowpath::memory
