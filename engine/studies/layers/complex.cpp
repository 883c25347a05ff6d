// SPDX-License-Identifier: Apache-2.0
// Compiled into libslowpath-layers.so, and into the program for the layers that are inlined there.
#include "layers/complex.hpp"

#include <algorithm>

namespace slowpath::layers {
namespace {

__extension__ using Wide = __int128;  // holds a sum of any product of an int, a displacement and an extent

struct Range {
    Wide begin_bytes;  ///< relative to the first element's address
    Wide end_bytes;
};

/// The bytes that `count` >= 1 elements reach, in whichever direction they follow one another.
Range reach(const TypeRecord& record, int count) {
    const Wide last_bytes = Wide{record.extent_bytes} * (count - 1);
    return {std::min(last_bytes, Wide{0}) + record.true_lb_bytes,
            std::max(last_bytes, Wide{0}) + record.true_ub_bytes};
}

int check_type(const TypeRecord& record, Datatype handle) {
    if (record.handle != handle || handle == Datatype::null) return error_datatype;
    return (record.flags & type_flags::committed) == 0 ? error_uncommitted : success;
}

int check(int origin_count, Datatype origin_type, int target, std::ptrdiff_t displacement, int target_count,
          Datatype target_type, const Window* window) {
    if (window == nullptr || window->magic != Window::living) return error_window;
    if (window->open_ranks == 0) return error_epoch;
    if (target != proc_null && static_cast<std::uint32_t>(target) >= window->open_ranks) return error_rank;
    if (origin_count < 0 || target_count < 0) return error_count;
    const TypeRecord& from = window->types[index_of(origin_type)];
    const TypeRecord& to = window->types[index_of(target_type)];
    if (const int code = check_type(from, origin_type)) return code;
    if (const int code = check_type(to, target_type)) return code;
    if (Wide{from.size_bytes} * origin_count != Wide{to.size_bytes} * target_count) return error_size;
    if (target == proc_null || from.size_bytes == 0 || origin_count == 0) return success;
    if (displacement < 0) return error_displacement;
    const Peer& peer = window->peers[target];
    const Wide offset_bytes = Wide{displacement} * peer.displacement_unit_bytes;
    const auto [begin_bytes, end_bytes] = reach(to, target_count);
    const bool inside = offset_bytes + begin_bytes >= 0 && offset_bytes + end_bytes <= Wide{peer.bytes};
    return inside ? success : error_range;
}

}  // namespace

template <bool checked>
int put_blocks(const void* origin, int origin_count, Datatype origin_type, int target,
               std::ptrdiff_t displacement, int target_count, Datatype target_type, const Window* window) {
    const TypeRecord& record = window->types[index_of(origin_type)];
    if (origin_type != target_type || (record.flags & type_flags::committed) == 0 ||
        origin_count != target_count || (record.traits & type_traits::forward) == 0 || origin_count <= 0) {
        return put_general<checked>(origin, origin_count, origin_type, target, displacement, target_count,
                                    target_type, window);
    }
    const auto* const data = static_cast<const std::byte*>(origin);
    const Peer& peer = window->peers[static_cast<std::uint32_t>(target)];
    if constexpr (checked) {
        const std::int64_t reach_bytes =
            record.true_ub_bytes - record.true_lb_bytes + (origin_count - 1) * record.extent_bytes;
        std::byte* at;
        if (displacement < 0 || !in_range(peer, displacement, record.true_lb_bytes,
                                          static_cast<std::uint64_t>(reach_bytes), at)) [[unlikely]]
            return refuse_range(reach_bytes, displacement);
        return copy_same(at - record.true_lb_bytes, data, record, origin_count);
    }
    return copy_same(target_address(peer, displacement), data, record, origin_count);
}

template <bool checked>
int put_general(const void* origin, int origin_count, Datatype origin_type, int target,
                std::ptrdiff_t displacement, int target_count, Datatype target_type, const Window* window) {
    if constexpr (checked) {
        if (const int code =
                check(origin_count, origin_type, target, displacement, target_count, target_type, window))
            return code;
    }
    const TypeRecord& from = window->types[index_of(origin_type)];
    const TypeRecord& to = window->types[index_of(target_type)];
    if (target < 0 || from.size_bytes == 0 || origin_count == 0) return success;
    copy_merged(target_address(window->peers[target], displacement), to,
                static_cast<const std::byte*>(origin), from, origin_count);
    return success;
}

int refuse_size(int origin_count, int target_count) {
    return origin_count < 0 || target_count < 0 ? error_count : error_size;
}

int refuse_range(std::int64_t bytes, std::ptrdiff_t displacement) {
    // Equal sums of bytes are negative together.
    if (bytes <= 0) return bytes < 0 ? error_count : success;
    return displacement < 0 ? error_displacement : error_range;
}

template <bool checked>
int put_complex_called(const void* origin, int origin_count, Datatype origin_type, int target,
                       std::ptrdiff_t displacement, int target_count, Datatype target_type,
                       const Window* window) {
    return put_complex<checked>(origin, origin_count, origin_type, target, displacement, target_count,
                                target_type, window);
}

template int put_blocks<true>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype, const Window*);
template int put_blocks<false>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype, const Window*);
template int put_general<true>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype, const Window*);
template int put_general<false>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype,
                                const Window*);
template int put_complex_called<true>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype,
                                      const Window*);
template int put_complex_called<false>(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype,
                                       const Window*);

}  // namespace slowpath::layers
