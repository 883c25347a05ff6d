// SPDX-License-Identifier: Apache-2.0
/// Layer `shmem`: OpenSHMEM's way (OpenSHMEM 1.5 section 9.5): the target is a symmetric address, that is an
/// address in this process's own part, and there is no window among the arguments. `put` moves bytes, `p` one
/// word by value.
///
/// Unchecked, as OpenSHMEM is: the processing element exists and the bytes lie within its part, else
/// undefined. Checked: both are looked at, and a code is answered; proc_null is no processing element.
///
/// The window is implied: the one whose epoch began last (Window::begin_epoch). Each image that holds this
/// layer, the library and the program, keeps its own table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layers/blocks.hpp"
#include "layers/error.hpp"
#include "layers/window.hpp"

namespace slowpath::layers {

struct Symmetric {
    /// From an address in the own part to the same one of each processing element.
    std::array<std::ptrdiff_t, most_ranks> deltas_bytes;
    std::byte* own_base;
    std::uint64_t bytes;                ///< as long as the shortest part
    std::uint32_t processing_elements;  ///< 0: no window is attached
};
extern Symmetric symmetric;

/// @param window Null: no window has symmetric addresses any more.
void attach_symmetric(const Window* window);

[[gnu::always_inline]] inline int check_symmetric(const void* target, std::size_t bytes, int pe) {
    if (static_cast<std::uint32_t>(pe) >= symmetric.processing_elements) [[unlikely]]
        return symmetric.processing_elements == 0 ? error_epoch : error_rank;
    const auto offset_bytes =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(target) - symmetric.own_base);
    std::uint64_t end;
    if (__builtin_add_overflow(offset_bytes, bytes, &end) || end > symmetric.bytes) [[unlikely]]
        return error_range;
    return success;
}

template <bool checked>
[[gnu::always_inline]] inline int shmem_put(void* target, const void* origin, std::size_t bytes, int pe) {
    if constexpr (checked) {
        if (const int code = check_symmetric(target, bytes, pe)) [[unlikely]]
            return code;
    }
    return copy_bytes(static_cast<std::byte*>(target) + symmetric.deltas_bytes[static_cast<std::size_t>(pe)],
                      static_cast<const std::byte*>(origin), bytes);
}

template <bool checked>
[[gnu::always_inline]] inline int shmem_p(std::uint64_t* target, std::uint64_t value, int pe) {
    if constexpr (checked) {
        if (const int code = check_symmetric(target, sizeof value, pe)) [[unlikely]]
            return code;
    }
    std::byte* const at =
        reinterpret_cast<std::byte*>(target) + symmetric.deltas_bytes[static_cast<std::size_t>(pe)];
    std::memcpy(at, &value, sizeof value);
    return success;
}

// The same two as a compiler sees them where they are inlined and the target is &array[i]: a symmetric object
// and an offset in it.

/// Where that byte lies at another processing element. The compiler is kept from adding object and offset
/// first: offset and difference are one addition from memory, and the store adds the object's address by
/// itself. Left alone, GCC 12 needs one instruction more (docs/results/put.md).
[[gnu::always_inline]] inline std::byte* symmetric_at(std::byte* object, std::uint64_t offset_bytes, int pe) {
    std::uint64_t moved_bytes =
        offset_bytes + static_cast<std::uint64_t>(symmetric.deltas_bytes[static_cast<std::size_t>(pe)]);
    asm("" : "+r"(moved_bytes));
    return object + moved_bytes;
}

template <bool checked>
[[gnu::always_inline]] inline int shmem_put_at(std::byte* object, std::uint64_t offset_bytes,
                                               const void* origin, std::size_t bytes, int pe) {
    if constexpr (checked) {
        if (const int code = check_symmetric(object + offset_bytes, bytes, pe)) [[unlikely]]
            return code;
    }
    if (bytes == sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t word;  // read first: then the offset is no longer needed by itself
        std::memcpy(&word, origin, sizeof word);
        std::memcpy(symmetric_at(object, offset_bytes, pe), &word, sizeof word);
        return success;
    }
    return copy_any(symmetric_at(object, offset_bytes, pe), static_cast<const std::byte*>(origin), bytes);
}

template <bool checked>
[[gnu::always_inline]] inline int shmem_p_at(std::byte* object, std::uint64_t offset_bytes,
                                             std::uint64_t value, int pe) {
    if constexpr (checked) {
        if (const int code = check_symmetric(object + offset_bytes, sizeof value, pe)) [[unlikely]]
            return code;
    }
    std::memcpy(symmetric_at(object, offset_bytes, pe), &value, sizeof value);
    return success;
}

}  // namespace slowpath::layers
