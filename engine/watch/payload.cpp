// SPDX-License-Identifier: Apache-2.0
#include "watch/communicators.hpp"
#include "watch/datatypes.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/profile.hpp"

namespace slowpath::watch {

std::uint64_t Seen::count_at(Role role, std::size_t index) const {
    if (pointer(role) == nullptr) return 0;
    const std::int64_t given = plan.is_large ? static_cast<const std::int64_t*>(pointer(role))[index]
                                             : static_cast<const std::int32_t*>(pointer(role))[index];
    return given < 0 ? 0 : static_cast<std::uint64_t>(given);
}

Payload view_payload(const Seen& seen, const void* address, std::uint64_t count, Word datatype) {
    constexpr std::uint16_t no_buffer = 1 << 10;
    Payload payload;
    if (seen.call.error != 0) return payload;
    // Nobody need look at the datatype of nothing.
    const DatatypeView type = count == 0 ? DatatypeView{} : view_datatype(datatype);
    payload.bytes = count * type.bytes;
    payload.datatype = type.row;
    payload.has_gaps = type.has_gaps;
    const auto start = reinterpret_cast<Word>(address);
    payload.start_offset = start_offset_of(start);
    if (start == library().in_place || start == library().bottom)
        payload.buffer.buffer_class = no_buffer;
    else
        payload.buffer = view_buffer(address, payload.bytes, seen.call.start_ticks);
    return payload;
}

Payload view_payload(const Seen& seen, Role buffer, Role count, Role datatype) {
    if (!seen.has(datatype)) return {};
    return view_payload(seen, seen.has(buffer) ? seen.pointer(buffer) : nullptr,
                        seen.has(count) ? seen.count(count) : 1, seen.word(datatype));
}

std::uint16_t row_of(const Seen& seen) {
    const Word handle = seen.word(Role::communicator);
    return seen.call.error == 0 ? communicator_row(handle) : known_communicator_row(handle);
}

void describe(layout::Event& event, const Payload& payload) {
    event.bytes = payload.bytes;
    event.datatype = payload.datatype;
    event.allocation = payload.buffer.allocation;
    event.start_offset = payload.start_offset;
    if (payload.buffer.is_first) event.kind |= layout::first;
}

void count_event(const Seen& seen, const layout::Event& event, const Payload& payload, Timed timed) {
    ProfileKey key{
        event.site,        event.call, size_class(event.bytes), 0, event.peer, payload.buffer.buffer_class,
        event.communicator};
    key.flags = static_cast<std::uint8_t>((payload.buffer.is_first ? first_use : 0) |
                                          ((event.kind & layout::receive) != 0 ? receive_side : 0) |
                                          (payload.has_gaps ? has_gaps : 0));
    const bool is_timed = timed == Timed::yes;
    count(seen.lane, key,
          {event.bytes, is_timed ? seen.ticks() : 0, payload.buffer.allocation_bytes, is_timed},
          is_timed ? &seen.slot.profile : &seen.slot.second);
}

void keep_event(const Seen& seen, const layout::Event& event, const Payload& payload) {
    count_event(seen, event, payload, Timed::yes);
    add_event(seen.lane, event);
}

void keep_preparation(const Seen& seen, layout::Event event, const Payload& payload) {
    event.kind = layout::persistent;
    event.bytes = 0;
    event.sequence = layout::not_known;
    keep_event(seen, event, payload);
}

Pending* post_request(const Seen& seen, const layout::Event& event, const Payload& payload) {
    if (!seen.made(Role::request)) return nullptr;
    const void* const location = seen.pointer(Role::request);
    Pending* const pending = remember_request(library().handle_at(location, 0), location);
    if (pending == nullptr) return nullptr;
    pending->event = event;
    pending->profile_hint = &seen.slot.profile;
    pending->post_ticks = seen.ticks();
    pending->allocation_bytes = payload.buffer.allocation_bytes;
    pending->buffer_class = payload.buffer.buffer_class;
    pending->profile_flags = static_cast<std::uint8_t>((payload.buffer.is_first ? first_use : 0) |
                                                       (payload.has_gaps ? has_gaps : 0));
    pending->lasting = seen.plan.lasting;
    pending->is_active = seen.plan.lasting == Lasting::once;
    return pending;
}

}  // namespace slowpath::watch
