// SPDX-License-Identifier: Apache-2.0
/// The wrappers of the CUDA driver's and runtime's functions.
#include <cstdint>
#include <cstring>

#include "pad/lookup.hpp"
#include "pad/settings.hpp"
#include "pad/statistics.hpp"

namespace slowpath::pad {
namespace {

// CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation; CUDA_ERROR_NOT_INITIALIZED and
// cudaErrorInitializationError.
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;

// CUdeviceptr and void* travel alike, and so do CUresult, cudaError_t and int.
using Allocate = int(std::uintptr_t* pointer, std::size_t bytes);
using Free = int(std::uintptr_t pointer);
using GetProcAddress = int(const char* symbol, void** function, int version, std::uint64_t flags);
using GetProcAddressV2 = int(const char* symbol, void** function, int version, std::uint64_t flags,
                             void* status);
// The fourth argument came with CUDA 12; an older runtime does not look at it.
using GetEntryPoint = int(const char* symbol, void** function, std::uint64_t flags, void* status);
using GetEntryPointByVersion = int(const char* symbol, void** function, unsigned version, std::uint64_t flags,
                                   void* status);

/// cudaMalloc calls cuMemAlloc: what is inside a wrapper is not counted again. (Padding again would add
/// nothing.)
[[gnu::tls_model("initial-exec")]] thread_local constinit bool inside = false;

/// After a failure that the program must not see: cudaMalloc leaves it behind for cudaGetLastError.
void clear_runtime_error() {
    if (void* const found = real_dlsym()(reinterpret_cast<void*>(0), "cudaGetLastError"))
        reinterpret_cast<int (*)()>(found)();
}

int allocate(Function function, void* original, std::uintptr_t* pointer, std::size_t bytes) {
    auto* const call = reinterpret_cast<Allocate*>(original);
    if (call == nullptr) return not_initialized;
    if (inside) return call(pointer, bytes);
    std::size_t asked = padded(bytes, settings.min_bytes);
    inside = true;
    int code = call(pointer, asked);
    if (code == out_of_memory && asked != bytes) {
        // What fitted without padding still fits.
        asked = bytes;
        code = call(pointer, bytes);
        if (code == 0 && function == Function::cuda_malloc) clear_runtime_error();
    }
    inside = false;
    if (code == 0) note_device_allocation(*pointer, asked - bytes);
    return code;
}

int release(void* original, std::uintptr_t pointer) {
    auto* const call = reinterpret_cast<Free*>(original);
    if (call == nullptr) return not_initialized;
    const std::size_t added_bytes = note_device_free(pointer);
    const int code = call(pointer);
    if (code != 0 && added_bytes != 0) undo_device_free(pointer, added_bytes);
    return code;
}

constexpr int version_unknown = 0;

/// Put the wrapper in place of what the driver handed out for `symbol`.
/// @param version CUDA version that the caller asked for: names stand for other functions from one on.
void substitute(const char* symbol, int version, void** function) {
    if (symbol == nullptr || function == nullptr || *function == nullptr) return;
    constexpr int version_64_bit = 3020, version_with_status = 12000;
    const bool current = version == version_unknown || version >= version_64_bit;
    if (std::strcmp(symbol, "cuMemAlloc_v2") == 0 || (current && std::strcmp(symbol, "cuMemAlloc") == 0))
        *function = wrapper_for(Function::cu_mem_alloc, *function);
    else if (std::strcmp(symbol, "cuMemFree_v2") == 0 || (current && std::strcmp(symbol, "cuMemFree") == 0))
        *function = wrapper_for(Function::cu_mem_free, *function);
    else if (version != version_unknown && std::strcmp(symbol, "cuGetProcAddress") == 0)
        *function = wrapper_for(
            version >= version_with_status ? Function::cu_get_proc_address_v2 : Function::cu_get_proc_address,
            *function);
    else if (std::strcmp(symbol, "cuGetProcAddress_v2") == 0)
        *function = wrapper_for(Function::cu_get_proc_address_v2, *function);
}

/// Call a function that hands out others, and wrap what it hands out.
template <class Signature, class... Arguments>
int hand_out(void* original, int version, const char* symbol, void** function, Arguments... arguments) {
    if (original == nullptr) return not_initialized;
    const int code = reinterpret_cast<Signature*>(original)(symbol, function, arguments...);
    if (code == 0) substitute(symbol, version, function);
    return code;
}

template <Function function, std::size_t slot>
int allocate_in(std::uintptr_t* pointer, std::size_t bytes) {
    return allocate(function, original(function, slot).load(), pointer, bytes);
}

template <Function function, std::size_t slot>
int free_in(std::uintptr_t pointer) {
    return release(original(function, slot).load(), pointer);
}

template <Function function, std::size_t slot>
int get_proc_address_in(const char* symbol, void** found, int version, std::uint64_t flags) {
    return hand_out<GetProcAddress>(original(function, slot).load(), version, symbol, found, version, flags);
}

template <Function function, std::size_t slot>
int get_proc_address_v2_in(const char* symbol, void** found, int version, std::uint64_t flags, void* status) {
    return hand_out<GetProcAddressV2>(original(function, slot).load(), version, symbol, found, version, flags,
                                      status);
}

template <Function function, std::size_t slot>
int get_entry_point_in(const char* symbol, void** found, std::uint64_t flags, void* status) {
    return hand_out<GetEntryPoint>(original(function, slot).load(), version_unknown, symbol, found, flags,
                                   status);
}

template <Function function, std::size_t slot>
int get_entry_point_by_version_in(const char* symbol, void** found, unsigned version, std::uint64_t flags,
                                  void* status) {
    return hand_out<GetEntryPointByVersion>(original(function, slot).load(), static_cast<int>(version),
                                            symbol, found, version, flags, status);
}

}  // namespace
}  // namespace slowpath::pad

using namespace slowpath::pad;
#define SLOWPATH_EXPORT extern "C" [[gnu::visibility("default")]]
#define SLOWPATH_ORIGINAL(function) exported_original(Function::function, __builtin_return_address(0))

SLOWPATH_EXPORT int cuMemAlloc_v2(std::uintptr_t* pointer, std::size_t bytes) {
    return allocate(Function::cu_mem_alloc, SLOWPATH_ORIGINAL(cu_mem_alloc), pointer, bytes);
}

SLOWPATH_EXPORT int cuMemFree_v2(std::uintptr_t pointer) {
    return release(SLOWPATH_ORIGINAL(cu_mem_free), pointer);
}

SLOWPATH_EXPORT int cudaMalloc(std::uintptr_t* pointer, std::size_t bytes) {
    return allocate(Function::cuda_malloc, SLOWPATH_ORIGINAL(cuda_malloc), pointer, bytes);
}

SLOWPATH_EXPORT int cudaFree(std::uintptr_t pointer) {
    return release(SLOWPATH_ORIGINAL(cuda_free), pointer);
}

SLOWPATH_EXPORT int cuGetProcAddress(const char* symbol, void** found, int version, std::uint64_t flags) {
    return hand_out<GetProcAddress>(SLOWPATH_ORIGINAL(cu_get_proc_address), version, symbol, found, version,
                                    flags);
}

SLOWPATH_EXPORT int cuGetProcAddress_v2(const char* symbol, void** found, int version, std::uint64_t flags,
                                        void* status) {
    return hand_out<GetProcAddressV2>(SLOWPATH_ORIGINAL(cu_get_proc_address_v2), version, symbol, found,
                                      version, flags, status);
}

SLOWPATH_EXPORT int cudaGetDriverEntryPoint(const char* symbol, void** found, std::uint64_t flags,
                                            void* status) {
    return hand_out<GetEntryPoint>(SLOWPATH_ORIGINAL(cuda_get_driver_entry_point), version_unknown, symbol,
                                   found, flags, status);
}

SLOWPATH_EXPORT int cudaGetDriverEntryPoint_ptsz(const char* symbol, void** found, std::uint64_t flags,
                                                 void* status) {
    return hand_out<GetEntryPoint>(SLOWPATH_ORIGINAL(cuda_get_driver_entry_point_ptsz), version_unknown,
                                   symbol, found, flags, status);
}

SLOWPATH_EXPORT int cudaGetDriverEntryPointByVersion(const char* symbol, void** found, unsigned version,
                                                     std::uint64_t flags, void* status) {
    return hand_out<GetEntryPointByVersion>(SLOWPATH_ORIGINAL(cuda_get_driver_entry_point_by_version),
                                            static_cast<int>(version), symbol, found, version, flags, status);
}

SLOWPATH_EXPORT int cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** found, unsigned version,
                                                          std::uint64_t flags, void* status) {
    return hand_out<GetEntryPointByVersion>(SLOWPATH_ORIGINAL(cuda_get_driver_entry_point_by_version_ptsz),
                                            static_cast<int>(version), symbol, found, version, flags, status);
}

namespace slowpath::pad {

#define SLOWPATH_WRAPPERS(symbol, family, function)                                                       \
    {                                                                                                     \
        #symbol, {                                                                                        \
            reinterpret_cast<void*>(&family<function, 0>), reinterpret_cast<void*>(&family<function, 1>), \
                reinterpret_cast<void*>(&family<function, 2>),                                            \
                reinterpret_cast<void*>(&family<function, 3>), reinterpret_cast<void*>(&symbol)           \
        }                                                                                                 \
    }

const Wrapped wrapped[function_count] = {
    SLOWPATH_WRAPPERS(cuMemAlloc_v2, allocate_in, Function::cu_mem_alloc),
    SLOWPATH_WRAPPERS(cuMemFree_v2, free_in, Function::cu_mem_free),
    SLOWPATH_WRAPPERS(cuGetProcAddress, get_proc_address_in, Function::cu_get_proc_address),
    SLOWPATH_WRAPPERS(cuGetProcAddress_v2, get_proc_address_v2_in, Function::cu_get_proc_address_v2),
    SLOWPATH_WRAPPERS(cudaMalloc, allocate_in, Function::cuda_malloc),
    SLOWPATH_WRAPPERS(cudaFree, free_in, Function::cuda_free),
    SLOWPATH_WRAPPERS(cudaGetDriverEntryPoint, get_entry_point_in, Function::cuda_get_driver_entry_point),
    SLOWPATH_WRAPPERS(cudaGetDriverEntryPoint_ptsz, get_entry_point_in,
                      Function::cuda_get_driver_entry_point_ptsz),
    SLOWPATH_WRAPPERS(cudaGetDriverEntryPointByVersion, get_entry_point_by_version_in,
                      Function::cuda_get_driver_entry_point_by_version),
    SLOWPATH_WRAPPERS(cudaGetDriverEntryPointByVersion_ptsz, get_entry_point_by_version_in,
                      Function::cuda_get_driver_entry_point_by_version_ptsz),
};

}  // namespace slowpath::pad
