// SPDX-License-Identifier: Apache-2.0
// libslowpath-layers.so: the layers, called.
#include "layers/library.hpp"

#include <atomic>

#include "layers/complex.hpp"
#include "layers/shmem.hpp"
#include "layers/simple.hpp"
#include "layers/small_args.hpp"

using namespace slowpath::layers;

int slowpath_put_complex(const void* origin, int origin_count, Datatype origin_type, int target,
                         std::ptrdiff_t displacement, int target_count, Datatype target_type,
                         const Window* window) {
    return put_complex<true>(origin, origin_count, origin_type, target, displacement, target_count,
                             target_type, window);
}

int slowpath_put_complex_unchecked(const void* origin, int origin_count, Datatype origin_type, int target,
                                   std::ptrdiff_t displacement, int target_count, Datatype target_type,
                                   const Window* window) {
    return put_complex<false>(origin, origin_count, origin_type, target, displacement, target_count,
                              target_type, window);
}

int slowpath_put_simple(const void* origin, int origin_count, Datatype origin_type, int target,
                        std::ptrdiff_t displacement, int target_count, Datatype target_type,
                        const Window* window) {
    return put_simple<true>(origin, origin_count, origin_type, target, displacement, target_count,
                            target_type, window);
}

int slowpath_put_simple_unchecked(const void* origin, int origin_count, Datatype origin_type, int target,
                                  std::ptrdiff_t displacement, int target_count, Datatype target_type,
                                  const Window* window) {
    return put_simple<false>(origin, origin_count, origin_type, target, displacement, target_count,
                             target_type, window);
}

int slowpath_put_small_args(const void* origin, std::size_t bytes, int target, std::size_t offset_bytes,
                            const Window* window) {
    return put_small_args<true>(origin, bytes, target, offset_bytes, window);
}

int slowpath_put_small_args_unchecked(const void* origin, std::size_t bytes, int target,
                                      std::size_t offset_bytes, const Window* window) {
    return put_small_args<false>(origin, bytes, target, offset_bytes, window);
}

void slowpath_shmem_put(void* target, const void* origin, std::size_t bytes, int pe) {
    shmem_put<false>(target, origin, bytes, pe);
}

int slowpath_shmem_put_checked(void* target, const void* origin, std::size_t bytes, int pe) {
    return shmem_put<true>(target, origin, bytes, pe);
}

void slowpath_shmem_p(std::uint64_t* target, std::uint64_t value, int pe) {
    shmem_p<false>(target, value, pe);
}

int slowpath_shmem_p_checked(std::uint64_t* target, std::uint64_t value, int pe) {
    return shmem_p<true>(target, value, pe);
}

void slowpath_shmem_attach(const Window* window) {
    attach_symmetric(window);
}

void slowpath_flush(const Window*) {
    std::atomic_thread_fence(std::memory_order_release);
}

int slowpath_empty_call(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype, const Window*) {
    return 0;
}

int slowpath_empty_call_5(const void*, std::size_t, int, std::size_t, const Window*) {
    return 0;
}
