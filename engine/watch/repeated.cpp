// SPDX-License-Identifier: Apache-2.0
#include "watch/repeated.hpp"

#include <cstring>

#include "watch/library.hpp"
#include "watch/profile.hpp"
#include "watch/sites.hpp"
#include "watch/statuses.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit std::uint32_t generation = 1;

Repeated& place_of(Lane& lane, const Observed& call) {
    const auto slot = static_cast<std::uint64_t>(call.slot - lane.sites);
    const std::uint64_t key = slot << 48 ^ call.arguments[0] ^ call.arguments[3] << 40;
    return lane.repeated[scatter(key) % Lane::repeated_slots];
}

Word argument(const Observed& call, const Plan& plan, Role role) {
    return call.arguments[plan.at[static_cast<std::size_t>(role)]];
}

/// As post_request does it.
void post_again(const Observed& call, const Plan& plan, const Repeated& known, const layout::Event& event,
                const BufferView& buffer, std::uint32_t order, bool is_numbered) {
    const auto* const location = reinterpret_cast<const void*>(argument(call, plan, Role::request));
    if (location == nullptr) return;
    Pending* const pending = remember_request(library().handle_at(location, 0), location);
    if (pending == nullptr) return;
    pending->event = event;
    pending->stream = known.stream;
    pending->order = order;
    pending->is_numbered = is_numbered;
    pending->slot = call.slot;
    pending->post_ticks = call.end_ticks - call.start_ticks;
    pending->allocation_bytes = buffer.allocation_bytes;
    pending->buffer_class = buffer.buffer_class;
    pending->profile_flags = static_cast<std::uint8_t>(known.flags | (buffer.is_first ? first_use : 0));
    pending->lasting = Lasting::once;
    pending->is_active = true;
}

}  // namespace

void forget_repeated() {
    ++generation;
}

void find_repeated(Lane& lane, Observed& call) {
    if (lane.is_shared) return;
    call.slot = &find_site(lane, call);
    Repeated& known = place_of(lane, call);
    if (known.generation == generation && known.event.call == call.call &&
        known.event.site == call.slot->site &&
        std::memcmp(known.arguments, call.arguments, sizeof known.arguments) == 0)
        call.repeated = &known;
}

void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload,
                   const Stream& stream) {
    if (is_multiple || seen.lane.is_shared || !seen.plan.repeats || seen.call.error != 0 ||
        seen.call.slot == nullptr || stream.communicator == layout::no_row || stream.peer < 0 ||
        stream.tag < 0 || seen.call.arguments[0] == library().bottom)
        return;
    Repeated& known = place_of(seen.lane, seen.call);
    std::memcpy(known.arguments, seen.call.arguments, sizeof known.arguments);
    known.event = event;
    known.event.kind &= static_cast<std::uint16_t>(~layout::first);
    known.stream = stream;
    known.generation = generation;
    known.payload_bytes = payload.bytes;
    known.flags = payload.has_gaps ? has_gaps : 0;
}

void observe_repeated(const Observed& call, const Plan& plan, Lane& lane) {
    const Repeated& known = *call.repeated;
    const bool is_receive = known.stream.is_receive;
    const BufferView buffer =
        view_buffer(reinterpret_cast<const void*>(call.arguments[0]), known.payload_bytes, call.start_ticks);
    layout::Event event = known.event;
    event.start_ticks = call.start_ticks;
    event.end_ticks = call.end_ticks;
    event.allocation = buffer.allocation;
    if (buffer.is_first) event.kind |= layout::first;
    if (plan.lasting == Lasting::once) event.request = next_serial();
    std::uint32_t order = 0;
    bool is_numbered = true;
    if (!is_receive) {
        event.sequence = number_send(known.stream);
    } else if (plan.lasting == Lasting::no) {
        order = post_receive({known.stream.communicator, 0, 0, true, false});
        event.bytes = read_status(reinterpret_cast<const void*>(argument(call, plan, Role::status))).bytes;
        event.sequence = number_receive(known.stream, order);
    } else {
        is_numbered = is_certain(known.stream);
        order = post_receive(known.stream);
        event.sequence = is_numbered ? number_receive(known.stream, order) : layout::not_known;
    }
    if (plan.lasting == Lasting::once) post_again(call, plan, known, event, buffer, order, is_numbered);
    if (!is_receive || plan.lasting == Lasting::no) {  // else when it is complete
        const auto flags = known.flags | (buffer.is_first ? first_use : 0) | (is_receive ? receive_side : 0);
        const ProfileKey key{
            event.site, event.call,          size_class(event.bytes), static_cast<std::uint8_t>(flags),
            event.peer, buffer.buffer_class, event.communicator};
        count(lane, key, {event.bytes, call.end_ticks - call.start_ticks, buffer.allocation_bytes, true},
              &call.slot->profile);
    }
    add_event(lane, event);
}

}  // namespace slowpath::watch
