// SPDX-License-Identifier: Apache-2.0
/// Layer `small_args`: five arguments, no datatypes: so many bytes to an offset in bytes of the target's
/// part.
///
/// Checked: an epoch is open; the target is a rank of the window (proc_null: nothing to do); all bytes lie
/// within the target's part. The window itself is trusted to be one. Unchecked: the same data for valid
/// arguments of which proc_null is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/blocks.hpp"
#include "layers/error.hpp"
#include "layers/window.hpp"

namespace slowpath::layers {

/// Why a put does not fit, or that there is nothing to do.
[[gnu::cold]] int refuse_small_args(const void* origin, std::size_t bytes, int target,
                                    std::size_t offset_bytes, const Window* window);

template <bool checked>
[[gnu::always_inline]] inline int put_small_args(const void* origin, std::size_t bytes, int target,
                                                 std::size_t offset_bytes, const Window* window) {
    const auto* const data = static_cast<const std::byte*>(origin);
    if constexpr (checked) {
        const auto rank = static_cast<std::uint32_t>(target);
        if (rank >= window->open_ranks) [[unlikely]]
            return refuse_small_args(origin, bytes, target, offset_bytes, window);
        const Peer& peer = window->peers[rank];
        std::size_t end;
        if (__builtin_add_overflow(offset_bytes, bytes, &end) || end > peer.bytes) [[unlikely]]
            return refuse_small_args(origin, bytes, target, offset_bytes, window);
        return copy_bytes(peer.base + offset_bytes, data, bytes);
    }
    return copy_bytes(window->bases[static_cast<std::size_t>(target)] + offset_bytes, data, bytes);
}

}  // namespace slowpath::layers
