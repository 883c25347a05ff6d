// SPDX-License-Identifier: Apache-2.0
/// What libslowpath-layers.so exports: C linkage, one function a design. The contracts stand with the
/// designs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/datatype.hpp"
#include "layers/window.hpp"

#define SLOWPATH_LAYERS_EXPORT [[gnu::visibility("default")]]

extern "C" {

/// layers/complex.hpp
SLOWPATH_LAYERS_EXPORT int slowpath_put_complex(const void* origin, int origin_count,
                                                slowpath::layers::Datatype origin_type, int target,
                                                std::ptrdiff_t displacement, int target_count,
                                                slowpath::layers::Datatype target_type,
                                                const slowpath::layers::Window* window);
SLOWPATH_LAYERS_EXPORT int slowpath_put_complex_unchecked(const void* origin, int origin_count,
                                                          slowpath::layers::Datatype origin_type, int target,
                                                          std::ptrdiff_t displacement, int target_count,
                                                          slowpath::layers::Datatype target_type,
                                                          const slowpath::layers::Window* window);

/// layers/simple.hpp
SLOWPATH_LAYERS_EXPORT int slowpath_put_simple(const void* origin, int origin_count,
                                               slowpath::layers::Datatype origin_type, int target,
                                               std::ptrdiff_t displacement, int target_count,
                                               slowpath::layers::Datatype target_type,
                                               const slowpath::layers::Window* window);
SLOWPATH_LAYERS_EXPORT int slowpath_put_simple_unchecked(const void* origin, int origin_count,
                                                         slowpath::layers::Datatype origin_type, int target,
                                                         std::ptrdiff_t displacement, int target_count,
                                                         slowpath::layers::Datatype target_type,
                                                         const slowpath::layers::Window* window);

/// layers/small_args.hpp
SLOWPATH_LAYERS_EXPORT int slowpath_put_small_args(const void* origin, std::size_t bytes, int target,
                                                   std::size_t offset_bytes,
                                                   const slowpath::layers::Window* window);
SLOWPATH_LAYERS_EXPORT int slowpath_put_small_args_unchecked(const void* origin, std::size_t bytes,
                                                             int target, std::size_t offset_bytes,
                                                             const slowpath::layers::Window* window);

/// layers/shmem.hpp
SLOWPATH_LAYERS_EXPORT void slowpath_shmem_put(void* target, const void* origin, std::size_t bytes, int pe);
SLOWPATH_LAYERS_EXPORT int slowpath_shmem_put_checked(void* target, const void* origin, std::size_t bytes,
                                                      int pe);
SLOWPATH_LAYERS_EXPORT void slowpath_shmem_p(std::uint64_t* target, std::uint64_t value, int pe);
SLOWPATH_LAYERS_EXPORT int slowpath_shmem_p_checked(std::uint64_t* target, std::uint64_t value, int pe);
/// Null: no window has symmetric addresses any more.
SLOWPATH_LAYERS_EXPORT void slowpath_shmem_attach(const slowpath::layers::Window* window);

/// All puts of this thread before it are visible before all its stores after it. A release fence: no
/// instruction on x86-64, where stores are seen in order.
SLOWPATH_LAYERS_EXPORT void slowpath_flush(const slowpath::layers::Window* window);

/// Limits: what a call costs that does nothing, with the arguments of `complex` and of `small_args`.
SLOWPATH_LAYERS_EXPORT int slowpath_empty_call(const void* origin, int origin_count,
                                               slowpath::layers::Datatype origin_type, int target,
                                               std::ptrdiff_t displacement, int target_count,
                                               slowpath::layers::Datatype target_type,
                                               const slowpath::layers::Window* window);
SLOWPATH_LAYERS_EXPORT int slowpath_empty_call_5(const void* origin, std::size_t bytes, int target,
                                                 std::size_t offset_bytes,
                                                 const slowpath::layers::Window* window);

}  // extern "C"
