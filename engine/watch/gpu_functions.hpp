// SPDX-License-Identifier: Apache-2.0
/// The functions of GPU drivers and runtimes that make memory, and those that hand such functions out.
///
/// A program gets at them by linking, by dlsym, by cuGetProcAddress, through a runtime; the addresses that
/// these give for one name need not be alike. So each function has several wrappers, one for each address met
/// (a slot), and one more that is the exported symbol. All their arguments are integers or pointers in
/// registers, at most five: wrappers pass words on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace slowpath::watch {

enum class Action : std::uint8_t {
    allocate,         ///< (out pointer, bytes, ...)
    allocate_pitch,   ///< (out pointer, out pitch, width, height, ...)
    enroll,           ///< (pointer, bytes, ...): host memory registered, or physical memory mapped
    release,          ///< (pointer, ...)
    find_by_version,  ///< (name, out function, version, ...)
    find_by_flags,    ///< (name, out function, flags, ...)
};

struct GpuFunction {
    const char* name;  ///< as the library exports it
    const char* base;  ///< as cuGetProcAddress is asked for it
    Action action;
    std::uint16_t kind;  ///< memory_kinds
};

inline constexpr std::size_t gpu_slots = 4;
inline constexpr std::size_t exported_slot = gpu_slots;
using Five = int(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t);

/// The table; gpu_calls.cpp has it.
extern const GpuFunction gpu_functions[];
extern const std::size_t gpu_function_count;

/// The wrapper of a slot, or the exported symbol.
Five* gpu_wrapper(std::size_t function, std::size_t slot);

/// The original of a slot; nullptr: not in use yet.
std::atomic<void*>& gpu_original(std::size_t function, std::size_t slot);

/// Which function is exported under this name; gpu_function_count: none.
std::size_t gpu_function_named(const char* name);

/// The wrapper for a function found at this address; the address itself when the slots are used up.
void* gpu_wrapper_for(std::size_t function, void* found);

/// The original of the exported symbol, looked for until it is found.
/// @param caller An address in the code that wants it.  @return nullptr: no loaded library has it.
void* exported_gpu_original(std::size_t function, const void* caller);

/// What a call that hands functions out found for `symbol` is replaced by its wrapper.
/// @param version CUDA version that the caller asked for; 0: it gave none. Names stand for other functions
/// from one on.
void substitute_gpu_function(const char* symbol, int version, void** function);

}  // namespace slowpath::watch
