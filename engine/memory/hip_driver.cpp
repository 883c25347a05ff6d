// SPDX-License-Identifier: Apache-2.0
#include "memory/hip_driver.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "memory/error.hpp"

namespace slowpath::memory {
namespace {

constexpr HipResult hip_error_no_device = 100;       // hipErrorNoDevice
constexpr HipResult hip_error_invalid_device = 101;  // hipErrorInvalidDevice

template <typename Function>
bool find(void* library, const char* symbol, Function*& function, std::string& missing) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr) missing = symbol;
    return function != nullptr;
}

/// The first entry point that the library lacks of those that it must have; empty when it has all.
std::string fill(void* library, HipFunctions& f) {
    std::string missing, optional;
    static_cast<void>(find(library, "hipInit", f.hipInit, missing) &&
                      find(library, "hipGetDeviceCount", f.hipGetDeviceCount, missing) &&
                      find(library, "hipSetDevice", f.hipSetDevice, missing) &&
                      find(library, "hipDeviceSynchronize", f.hipDeviceSynchronize, missing) &&
                      find(library, "hipMalloc", f.hipMalloc, missing) &&
                      find(library, "hipFree", f.hipFree, missing) &&
                      find(library, "hipHostMalloc", f.hipHostMalloc, missing) &&
                      find(library, "hipHostFree", f.hipHostFree, missing) &&
                      find(library, "hipMallocManaged", f.hipMallocManaged, missing) &&
                      find(library, "hipMemcpy", f.hipMemcpy, missing) &&
                      find(library, "hipGetErrorName", f.hipGetErrorName, missing) &&
                      find(library, "hipGetErrorString", f.hipGetErrorString, missing));
    find(library, "hipMemGetAddressRange", f.hipMemGetAddressRange, optional);
    find(library, "hipHostRegister", f.hipHostRegister, optional);
    find(library, "hipHostUnregister", f.hipHostUnregister, optional);
    find(library, "hipMallocAsync", f.hipMallocAsync, optional);
    find(library, "hipFreeAsync", f.hipFreeAsync, optional);
    find(library, "hipStreamSynchronize", f.hipStreamSynchronize, optional);
    find(library, "hipDeviceGetName", f.hipDeviceGetName, optional);
    find(library, "hipDeviceGetPCIBusId", f.hipDeviceGetPCIBusId, optional);
    find(library, "hipDeviceTotalMem", f.hipDeviceTotalMem, optional);
    find(library, "hipDeviceCanAccessPeer", f.hipDeviceCanAccessPeer, optional);
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

}  // namespace slowpath::memory
