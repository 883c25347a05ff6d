// SPDX-License-Identifier: Apache-2.0
/// Finding the functions behind the wrappers.
///
/// A program gets at an allocation function in several ways: by linking, by dlsym, by cuGetProcAddress,
/// through the CUDA runtime; and the addresses that they give for one name need not be alike. So each
/// function has several wrappers, one for each address met (a slot), and one more that is the exported
/// symbol.
#pragma once

#include <atomic>
#include <cstddef>

#include "watch/loader.hpp"

namespace slowpath::pad {

enum class Function : std::size_t {
    cu_mem_alloc,
    cu_mem_free,
    cu_get_proc_address,
    cu_get_proc_address_v2,
    cuda_malloc,
    cuda_free,
    cuda_get_driver_entry_point,
    cuda_get_driver_entry_point_ptsz,
    cuda_get_driver_entry_point_by_version,
    cuda_get_driver_entry_point_by_version_ptsz,
    none,
};
inline constexpr auto function_count = static_cast<std::size_t>(Function::none);
inline constexpr std::size_t slot_count = 4;
inline constexpr std::size_t exported_slot = slot_count;

struct Wrapped {
    const char* name;                ///< as the library exports it
    void* wrappers[slot_count + 1];  ///< by slot
};

/// By Function; device.cpp fills it.
extern const Wrapped wrapped[function_count];

/// The original of a slot; nullptr: not in use yet.
std::atomic<void*>& original(Function function, std::size_t slot);

/// Which function is exported under this name; none: it is not wrapped.
Function function_named(const char* name);

/// The wrapper for a function found at this address; the address itself when the slots are used up, which
/// leaves that caller without padding but otherwise alone.
void* wrapper_for(Function function, void* found);

/// True for each address that wrapper_for can give, or the loader, for this function.
bool is_wrapper(Function function, const void* address);

/// The original of the exported symbol, looked for until it is found.
/// @param caller An address in the code that wants it.  @return nullptr: no loaded library has it.
void* exported_original(Function function, const void* caller);

using watch::next_definition, watch::patches_code, watch::real_dlsym;

}  // namespace slowpath::pad
