// SPDX-License-Identifier: Apache-2.0
/// Layer `simple`: MPI_Put's arguments in full, but a predefined datatype is known by its handle alone, which
/// holds its size and means contiguous and committed (as MPI-5.0's ABI does for datatypes of fixed size,
/// section 20.4). No datatype object is read. Anything else (a derived datatype on either side, no bytes, an
/// error to be named) is put by `complex`.
///
/// Checked as `complex` checks, but for one thing: a handle that was never given out and says that it is
/// predefined is taken by its word. Unchecked: the same data for valid arguments, proc_null included; else
/// undefined.
#pragma once

#include "layers/complex.hpp"

namespace slowpath::layers {

template <bool checked>
[[gnu::always_inline]] inline int put_simple(const void* origin, int origin_count, Datatype origin_type,
                                             int target, std::ptrdiff_t displacement, int target_count,
                                             Datatype target_type, const Window* window) {
    const auto complex = [&] {
        return put_complex_called<checked>(origin, origin_count, origin_type, target, displacement,
                                           target_count, target_type, window);
    };
    const auto rank = static_cast<std::uint32_t>(target);
    if constexpr (checked) {
        if (window == nullptr || window->magic != Window::living || rank >= window->open_ranks) [[unlikely]]
            return complex();
    } else if (target < 0) [[unlikely]] {
        return success;
    }
    if (!are_predefined(origin_type, target_type)) [[unlikely]]
        return complex();
    const std::int64_t bytes = std::int64_t{size_in_handle(origin_type)} * origin_count;
    const Peer& peer = window->peers[rank];
    const auto* const data = static_cast<const std::byte*>(origin);
    if constexpr (checked) {
        if (bytes != std::int64_t{size_in_handle(target_type)} * target_count) [[unlikely]]
            return refuse_size(origin_count, target_count);
        std::byte* at;
        if (!in_range(peer, displacement, 0, static_cast<std::uint64_t>(bytes), at)) [[unlikely]]
            return refuse_range(bytes, displacement);
        return copy_bytes(at, data, static_cast<std::uint64_t>(bytes));
    }
    return copy_bytes(target_address(peer, displacement), data, static_cast<std::uint64_t>(bytes));
}

}  // namespace slowpath::layers
