// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda_driver.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace slowpath::memory {
namespace {

constexpr CudaResult success = 0;
constexpr CudaResult error_no_device = 100;       // CUDA_ERROR_NO_DEVICE
constexpr CudaResult error_invalid_device = 101;  // CUDA_ERROR_INVALID_DEVICE

const char* driver_name() {
    const char* const named = std::getenv("SLOWPATH_CUDA_DRIVER");
    return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

/// Fill one entry point; false and its name in `missing` when the library lacks it.
template <typename Function>
bool find_entry(void* library, const char* symbol, Function*& function, std::string& missing) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr) missing = symbol;
    return function != nullptr;
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

}  // namespace slowpath::memory
