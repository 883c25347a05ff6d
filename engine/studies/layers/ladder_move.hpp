// SPDX-License-Identifier: Apache-2.0
/// The pieces from the target on: where a put goes, by which way, and what is remembered of it.
#pragma once

#include <cstdlib>

#include "layers/blocks.hpp"
#include "layers/ladder_checks.hpp"
#include "layers/ladder_copy.hpp"
#include "layers/ladder_state.hpp"

namespace slowpath::layers::ladder {

/// The way from a rank of the window to what is kept of it, and whether its epoch is open.
[[gnu::always_inline]] inline int find_target(WindowObject& object, int rank, Target*& target, Reach& reach) {
    const std::int32_t process_number = object.process_of_rank[static_cast<std::size_t>(rank)];
    const Process& process = object.processes[static_cast<std::size_t>(process_number)];
    reach = process.node != library.own_node || !object.shared_memory ? Reach::network
            : rank == object.own_rank                                 ? Reach::self
                                                                      : Reach::node;
    target = &object.targets[static_cast<std::size_t>(process.rank_in_node)];
    switch (object.epoch) {
        case Epoch::lock_all:
            return success;
        case Epoch::fence:
            return success;
        case Epoch::lock:
        case Epoch::start:
            return target->epoch == object.epoch ? success : error_epoch;
        case Epoch::none:
            break;
    }
    return error_epoch;
}

/// Keep a record of the put until a flush. The data has moved: without memory for a record there is none to
/// keep.
[[gnu::always_inline]] inline void enqueue(WindowObject& object) {
    auto* const request = static_cast<Request*>(std::malloc(sizeof(Request)));
    if (request == nullptr) [[unlikely]]
        return;
    *request = {.kind = Request::Kind::copy, .operation = nullptr, .information = nullptr, .next = nullptr};
    if (object.last == nullptr) {
        object.first = request;
    } else {
        object.last->next = request;
    }
    object.last = request;
}

/// The copy itself, by the rung's way; the general way asks about device memory once more, and copies it.
template <int rung>
[[gnu::always_inline]] inline int copy(const Arguments& put, std::byte* to, const TypeRecord* types,
                                       bool in_device) {
    if (rung >= generic_copy || in_device) {
        return copy_generally(put.origin, put.origin_count, put.origin_type, to, put.target_count,
                              put.target_type, types);
    }
    Side from;
    decode<rung>(put.origin_type, put.origin_count, types, from);
    const std::byte* data = put.origin;
    if constexpr (rung >= datatypes) {
        const TypeRecord& target_record = types[index_of(put.target_type)];
        if ((from.record->flags & target_record.flags & type_flags::dense) == 0) [[unlikely]] {
            copy_typed(to, target_record, put.target_count, put.origin, *from.record, put.origin_count,
                       from.bytes);
            return success;
        }
        data += from.record->true_lb_bytes;
        to += target_record.true_lb_bytes;
    }
    return copy_bytes(to, data, from.bytes);
}

/// Move the data of a put that may be done.
template <int rung>
[[gnu::always_inline]] inline int move(const Arguments& put, const Window& window, WindowObject* object,
                                       Target* target) {
    const Peer& peer = rung >= target_lookup ? *target->peer : window.peers[put.target];
    std::byte* const to = peer.base + put.displacement * std::ptrdiff_t{peer.displacement_unit_bytes};
    bool in_device = false;
    if constexpr (rung >= pointer_query) {
        PointerAttributes origin_attributes;
        PointerAttributes target_attributes;
        library.query_pointer(put.origin, origin_attributes);
        library.query_pointer(to, target_attributes);
        in_device = origin_attributes.copy != nullptr || target_attributes.copy != nullptr;
    }
    if constexpr (rung >= operation_counters) {
        ++object->issued;
        ++target->issued;
    }
    const int code = copy<rung>(put, to, window.types, in_device);
    if constexpr (rung >= requests) enqueue(*object);
    if constexpr (rung >= operation_counters) {
        ++target->completed;
        ++object->completed;
    }
    return code;
}

using Channel = int(const std::byte* origin, int origin_count, Datatype origin_type, int target,
                    std::ptrdiff_t displacement, int target_count, Datatype target_type, WindowObject& object,
                    Target& state);

template <int rung>
[[gnu::noinline]] int put_in_node(const std::byte* origin, int origin_count, Datatype origin_type, int target,
                                  std::ptrdiff_t displacement, int target_count, Datatype target_type,
                                  WindowObject& object, Target& state) {
    const Arguments put{origin, origin_count, origin_type, target, displacement, target_count, target_type};
    return move<rung>(put, *object.window, &object, &state);
}

/// There is no network in these layers, and no window that would need one.
inline int put_by_network(const std::byte*, int, Datatype, int, std::ptrdiff_t, int, Datatype, WindowObject&,
                          Target&) {
    return error_rank;
}

template <int rung>
inline constexpr Channel* channels[] = {put_in_node<rung>, put_in_node<rung>, put_by_network};  // by Reach

}  // namespace slowpath::layers::ladder
