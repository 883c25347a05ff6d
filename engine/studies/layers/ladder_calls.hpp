// SPDX-License-Identifier: Apache-2.0
/// The ladder's functions in libslowpath-layers.so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/datatype.hpp"
#include "layers/library.hpp"
#include "layers/window.hpp"

namespace slowpath::layers {

inline constexpr int ladder_rung_count = 13;

/// The arguments of MPI_Put (MPI-4.1 section 12.3.1).
/// @param window `const Window*` below rung 5; from there the handle that slowpath_ladder_attach gave.
/// @return layers::Error, or what the window's error handler made of it.
using LadderPut = int(const void* origin, int origin_count, Datatype origin_type, int target,
                      std::ptrdiff_t displacement, int target_count, Datatype target_type,
                      std::uintptr_t window);

/// MPI_Win_flush (MPI-4.1 section 12.5.4): all puts to `target` are complete when it returns.
using LadderFlush = int(int target, std::uintptr_t window);

/// Called with each error of a rung from 3 up; what it returns is what the put returns.
using LadderErrorHandler = int(std::uintptr_t window, int code);

/// Copies from or to device memory.
using LadderDeviceCopy = void(void* to, const void* from, std::size_t bytes);

}  // namespace slowpath::layers

extern "C" {

/// Rung 0: no check of anything. @param offset_bytes From the start of the target's part.
SLOWPATH_LAYERS_EXPORT int slowpath_ladder_put_0(const void* origin, std::size_t bytes, int target,
                                                 std::size_t offset_bytes,
                                                 const slowpath::layers::Window* window);

/// Rungs 1 and up.
SLOWPATH_LAYERS_EXPORT slowpath::layers::LadderPut slowpath_ladder_put_1, slowpath_ladder_put_2,
    slowpath_ladder_put_3, slowpath_ladder_put_4, slowpath_ladder_put_5, slowpath_ladder_put_6,
    slowpath_ladder_put_7, slowpath_ladder_put_8, slowpath_ladder_put_9, slowpath_ladder_put_10,
    slowpath_ladder_put_11, slowpath_ladder_put_12;
SLOWPATH_LAYERS_EXPORT slowpath::layers::LadderFlush slowpath_ladder_flush_0, slowpath_ladder_flush_1,
    slowpath_ladder_flush_2, slowpath_ladder_flush_3, slowpath_ladder_flush_4, slowpath_ladder_flush_5,
    slowpath_ladder_flush_6, slowpath_ladder_flush_7, slowpath_ladder_flush_8, slowpath_ladder_flush_9,
    slowpath_ladder_flush_10, slowpath_ladder_flush_11, slowpath_ladder_flush_12;

/// Make a window known to the ladder, or report that its epoch has begun or ended. Call it before the first
/// put through rung 3 or higher. Not thread-safe.
/// @return The window's handle; 0: no memory, or 1032 windows are known already.
SLOWPATH_LAYERS_EXPORT std::uint32_t slowpath_ladder_attach(const slowpath::layers::Window* window);

/// Forget a window; its handle answers error_window from now on. Flush first.
SLOWPATH_LAYERS_EXPORT void slowpath_ladder_detach(std::uint32_t handle);

/// MPI_THREAD_MULTIPLE, or less, which is the default (MPI-4.1 section 11.6.2). Not while puts are under way.
SLOWPATH_LAYERS_EXPORT void slowpath_ladder_set_thread_multiple(bool multiple);

/// MPI_Win_set_errhandler; null: errors are returned, as MPI_ERRORS_RETURN does, which is the default.
SLOWPATH_LAYERS_EXPORT void slowpath_ladder_set_error_handler(std::uint32_t handle,
                                                              slowpath::layers::LadderErrorHandler* handler);

/// The latest error of a rung from 3 up, with the arguments of its call; empty: none yet.
SLOWPATH_LAYERS_EXPORT const char* slowpath_ladder_last_error();

/// Memory that only `copy` can copy, as the hooks of a GPU's driver would report it.
/// @return False: there are 16 ranges already.
SLOWPATH_LAYERS_EXPORT bool slowpath_ladder_add_device_range(const void* base, std::size_t bytes,
                                                             slowpath::layers::LadderDeviceCopy* copy);
SLOWPATH_LAYERS_EXPORT void slowpath_ladder_clear_device_ranges();

/// Requests of rung 12 that a flush has still to complete.
SLOWPATH_LAYERS_EXPORT std::size_t slowpath_ladder_pending(std::uint32_t handle);

}  // extern "C"
