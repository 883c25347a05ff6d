// SPDX-License-Identifier: Apache-2.0
/// The pieces up to the datatypes: what a rung finds out about a put before it may be done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/datatype.hpp"
#include "layers/error.hpp"
#include "layers/window.hpp"

namespace slowpath::layers::ladder {

/// The pieces, each the number of the rung that adds it.
enum Piece : int {
    signature = 1,
    checks,
    error_handlers,
    thread_level,
    window_handle,
    target_lookup,
    datatypes,
    pointer_query,
    operation_counters,
    dispatch,
    generic_copy,
    requests,
};

/// Internal answer of the checks: MPI_PROC_NULL, so there is nothing to do and nothing wrong.
inline constexpr int nothing_to_do = -1;

__extension__ using Wide = __int128;  // displacement, unit and extent can be 64, 32 and 48 bits

struct Arguments {
    const std::byte* origin;
    int origin_count;
    Datatype origin_type;
    int target;
    std::ptrdiff_t displacement;
    int target_count;
    Datatype target_type;
};

/// What one side of a put holds.
struct Side {
    const TypeRecord* record;
    std::uint64_t bytes;
};

/// @return False: more bytes than any part of a window can have.
template <int rung>
[[gnu::always_inline]] inline bool decode(Datatype datatype, int count, const TypeRecord* types, Side& side) {
    if constexpr (rung >= datatypes) {
        side.record = types + index_of(datatype);
        return !__builtin_mul_overflow(static_cast<std::uint64_t>(side.record->size_bytes),
                                       static_cast<std::uint64_t>(count), &side.bytes);
    }
    side = {.record = nullptr,
            .bytes = std::uint64_t{size_in_handle(datatype)} * static_cast<std::uint64_t>(count)};
    return true;
}

template <int rung>
[[gnu::always_inline]] inline int check_type(Datatype datatype, const TypeRecord* types) {
    if constexpr (rung >= datatypes) {
        const TypeRecord& record = types[index_of(datatype)];
        if (datatype == Datatype::null || record.handle != datatype) [[unlikely]]
            return error_datatype;
        if ((record.flags & type_flags::committed) == 0) [[unlikely]]
            return error_uncommitted;
        return success;
    }
    return size_in_handle(datatype) == 0 ? error_datatype : success;
}

/// Whether the data of `count` >= 1 elements stands in the peer's part, wherever the elements go.
[[gnu::noinline]] inline bool blocks_in_range(const Peer& peer, std::ptrdiff_t displacement,
                                              const TypeRecord& record, int count) {
    const Wide first = Wide{displacement} * peer.displacement_unit_bytes;
    const Wide last = first + Wide{record.extent_bytes} * (count - 1);
    const Wide begin = (first < last ? first : last) + record.true_lb_bytes;
    const Wide end = (first < last ? last : first) + record.true_ub_bytes;
    return begin >= 0 && end <= Wide{peer.bytes};
}

template <int rung>
[[gnu::always_inline]] inline bool in_range(const Peer& peer, std::ptrdiff_t displacement, const Side& side,
                                            int count) {
    std::uint64_t begin;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(displacement),
                               std::uint64_t{peer.displacement_unit_bytes}, &begin))
        return false;
    if constexpr (rung >= datatypes) {
        if ((side.record->flags & type_flags::dense) == 0)
            return blocks_in_range(peer, displacement, *side.record, count);
        begin += static_cast<std::uint64_t>(side.record->true_lb_bytes);
    }
    std::uint64_t end;
    return !__builtin_add_overflow(begin, side.bytes, &end) && end <= peer.bytes;
}

/// What is wrong with a target that no put can go to now. Success: it is MPI_PROC_NULL.
[[gnu::noinline, gnu::cold]] inline int why_no_target(const Window& window, int target) {
    if (window.open_ranks == 0) return error_epoch;
    return target == proc_null ? success : error_rank;
}

/// Sides of at least 2^64 bytes: they are equal, and leave every window, or they are not.
[[gnu::noinline, gnu::cold]] inline int refuse_sizes(const TypeRecord* from, int origin_count,
                                                     const TypeRecord* to, int target_count) {
    return Wide{from->size_bytes} * origin_count == Wide{to->size_bytes} * target_count ? error_range
                                                                                        : error_size;
}

template <int rung>
[[gnu::always_inline]] inline int check(const Arguments& put, const Window* window) {
    if (window == nullptr || window->magic != Window::living) [[unlikely]]
        return error_window;
    const bool to_a_rank = static_cast<std::uint32_t>(put.target) < window->open_ranks;
    if (!to_a_rank) [[unlikely]] {
        if (const int code = why_no_target(*window, put.target)) return code;
    }
    if (put.origin_count < 0 || put.target_count < 0) [[unlikely]]
        return error_count;
    if (const int code = check_type<rung>(put.origin_type, window->types)) [[unlikely]]
        return code;
    if (const int code = check_type<rung>(put.target_type, window->types)) [[unlikely]]
        return code;
    Side from;
    Side to;
    const bool from_fits = decode<rung>(put.origin_type, put.origin_count, window->types, from);
    const bool to_fits = decode<rung>(put.target_type, put.target_count, window->types, to);
    if (!from_fits || !to_fits) [[unlikely]]
        return refuse_sizes(from.record, put.origin_count, to.record, put.target_count);
    if (from.bytes != to.bytes) [[unlikely]]
        return error_size;
    if (!to_a_rank || from.bytes == 0) [[unlikely]]
        return nothing_to_do;
    if (put.displacement < 0) [[unlikely]]
        return error_displacement;
    if (!in_range<rung>(window->peers[put.target], put.displacement, to, put.target_count)) [[unlikely]]
        return error_range;
    return success;
}

}  // namespace slowpath::layers::ladder
