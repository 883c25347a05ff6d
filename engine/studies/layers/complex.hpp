// SPDX-License-Identifier: Apache-2.0
/// Layer `complex`: MPI_Put's arguments in full (MPI-4.1 section 12.3.1). Both datatypes are handles of
/// objects that are looked up and read on each call.
///
/// Checked, in this order: the window lives; an epoch is open; the target is a rank of it (proc_null: nothing
/// to do); neither count is negative; both datatypes exist and are committed; both sides hold the same number
/// of bytes; the displacement is not negative; all target bytes lie within the target's part. The first that
/// fails is answered (layers/error.hpp) and nothing is written. No bytes to move: success, whatever the
/// displacement. Not looked at: the origin's addresses, the predefined datatypes on both sides beyond their
/// sum of bytes, whether origin and target overlap (they must not), overlaps within the target datatype.
///
/// Unchecked: the same data for valid arguments, proc_null included; anything else is undefined.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/blocks.hpp"
#include "layers/datatype.hpp"
#include "layers/error.hpp"
#include "layers/window.hpp"

namespace slowpath::layers {

/// Not both sides are dense. Equal datatypes are copied block by block, all else is left to put_general.
/// Called where window, target and the handles are known to be right.
template <bool checked>
int put_blocks(const void* origin, int origin_count, Datatype origin_type, int target,
               std::ptrdiff_t displacement, int target_count, Datatype target_type, const Window* window);

/// Every case with arithmetic that can't overflow: finds the error to be named, or moves the data.
template <bool checked>
[[gnu::cold]] int put_general(const void* origin, int origin_count, Datatype origin_type, int target,
                              std::ptrdiff_t displacement, int target_count, Datatype target_type,
                              const Window* window);

/// put_complex out of line.
template <bool checked>
int put_complex_called(const void* origin, int origin_count, Datatype origin_type, int target,
                       std::ptrdiff_t displacement, int target_count, Datatype target_type,
                       const Window* window);

/// Whether `bytes` bytes at `displacement` (plus `lb_bytes`) stand in the peer's part; then also where they
/// begin. A negative displacement or count makes a sum that is too large for any part, or that overflows.
[[gnu::always_inline]] inline bool in_range(const Peer& peer, std::ptrdiff_t displacement,
                                            std::int64_t lb_bytes, std::uint64_t bytes, std::byte*& at) {
    std::int64_t offset_bytes;
    if (__builtin_mul_overflow(displacement, std::int64_t{peer.displacement_unit_bytes}, &offset_bytes))
        return false;
    const std::uint64_t begin =
        static_cast<std::uint64_t>(offset_bytes) + static_cast<std::uint64_t>(lb_bytes);
    std::uint64_t end;
    if (__builtin_add_overflow(begin, bytes, &end) || end > peer.bytes) return false;
    at = peer.base + begin;
    return true;
}

/// Where the data of a put begins that is known to be valid.
[[gnu::always_inline]] inline std::byte* target_address(const Peer& peer, std::ptrdiff_t displacement) {
    return peer.base + displacement * std::ptrdiff_t{peer.displacement_unit_bytes};
}

/// Why a put of dense datatypes is refused, once both datatypes and the target are known to be right. Apart
/// from put_general, because by then the processor's registers hold little more than this.
[[gnu::cold]] int refuse_size(int origin_count, int target_count);
[[gnu::cold]] int refuse_range(std::int64_t bytes, std::ptrdiff_t displacement);

template <bool checked>
[[gnu::always_inline]] inline int put_complex(const void* origin, int origin_count, Datatype origin_type,
                                              int target, std::ptrdiff_t displacement, int target_count,
                                              Datatype target_type, const Window* window) {
    const auto otherwise = [&](auto* put) {
        return put(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                   window);
    };
    const auto rank = static_cast<std::uint32_t>(target);
    if constexpr (checked) {
        if (window == nullptr || window->magic != Window::living || rank >= window->open_ranks) [[unlikely]]
            return otherwise(put_general<true>);
    } else if (target < 0) [[unlikely]] {
        return success;
    }
    const TypeRecord& from = window->types[index_of(origin_type)];
    const TypeRecord& to = window->types[index_of(target_type)];
    if constexpr (checked) {
        if (from.handle != origin_type || to.handle != target_type) [[unlikely]]
            return otherwise(put_general<true>);
    }
    if ((from.flags & to.flags) != (type_flags::committed | type_flags::dense))
        return otherwise(put_blocks<checked>);
    // Dense datatypes are shorter than 2^32 bytes, so that neither product overflows.
    const std::int64_t bytes = from.size_bytes * origin_count;
    const auto* const data = static_cast<const std::byte*>(origin) + from.true_lb_bytes;
    const Peer& peer = window->peers[rank];
    if constexpr (checked) {
        if (bytes != to.size_bytes * target_count) [[unlikely]]
            return refuse_size(origin_count, target_count);
        std::byte* at;
        if (displacement < 0 || !in_range(peer, displacement, to.true_lb_bytes,
                                          static_cast<std::uint64_t>(bytes), at)) [[unlikely]]
            return refuse_range(bytes, displacement);
        return copy_bytes(at, data, static_cast<std::uint64_t>(bytes));
    }
    return copy_bytes(target_address(peer, displacement) + to.true_lb_bytes, data,
                      static_cast<std::uint64_t>(bytes));
}

}  // namespace slowpath::layers
