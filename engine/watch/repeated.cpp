// SPDX-License-Identifier: Apache-2.0
#include "watch/repeated.hpp"

#include <cstring>

#include "watch/events.hpp"
#include "watch/library.hpp"
#include "watch/requests.hpp"
#include "watch/sites.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit std::uint32_t generation = 1;

/// The first of the two places where a call of a site, partner and tag may be kept; the other is beside it.
/// With one place alone, a send and a receive of a loop that share it would push each other out in every
/// round.
std::size_t first_place(const Lane& lane, const Observed& call) {
    const auto slot = static_cast<std::uint64_t>(call.slot - lane.sites);
    const std::uint64_t key = slot << 48 ^ call.arguments[3] << 32 ^ call.arguments[4];
    return scatter(key) % Lane::repeated_slots;
}

Word argument(const Observed& call, const Plan& plan, Role role) {
    return call.arguments[plan.at[static_cast<std::size_t>(role)]];
}

/// Of these view_payload knows no buffer.
bool is_no_address(Word buffer) {
    return buffer == library().bottom || buffer == library().in_place;
}

struct Post {
    std::uint32_t* hint;
    std::uint32_t order;
    std::uint32_t stands_for;
    bool is_numbered;
};

/// Word by word: a comparison of wider parts would wait for the wrapper's stores.
bool is_same(const Repeated& known, const Word* arguments) {
    bool is_other = false;
    for (std::size_t at = 0; at < sizeof known.arguments / sizeof(Word); ++at)
        is_other |= known.arguments[at] != arguments[at];
    return !is_other;
}

bool is_earlier(const Repeated& known, const Observed& call) {
    return known.generation == generation && known.event.call == call.call &&
           known.event.site == call.slot->site && is_same(known, call.arguments + 1);
}

/// As post_request does it, but for the event.
Pending* post_again(const Observed& call, const Plan& plan, const Repeated& known, const BufferView& buffer,
                    const Post& post) {
    const auto* const location = reinterpret_cast<const void*>(argument(call, plan, Role::request));
    if (location == nullptr) return nullptr;
    Pending* const pending = remember_request(library().handle_at(location, 0), location);
    if (pending == nullptr) return nullptr;
    pending->stream = known.stream;
    pending->order = post.order;
    pending->is_numbered = post.is_numbered;
    pending->profile_hint = post.hint;
    pending->post_ticks = call.is_untimed ? 0 : call.end_ticks - call.start_ticks;
    pending->post_stands_for = post.stands_for;
    pending->allocation_bytes = buffer.allocation_bytes;
    pending->buffer_class = buffer.buffer_class;
    pending->profile_flags = static_cast<std::uint8_t>(known.flags | (buffer.is_first ? first_use : 0));
    pending->lasting = Lasting::once;
    pending->is_active = true;
    return pending;
}

}  // namespace

void forget_repeated() {
    ++generation;
}

void find_repeated(Lane& lane, Observed& call) {
    if (lane.is_shared) return;
    // A loop that sends the parts of an array has another address in each call: the address does not matter.
    call.slot = &find_site(lane, call);
    const std::size_t at = first_place(lane, call);
    if (is_no_address(call.arguments[0])) return;
    for (Repeated* const known : {&lane.repeated[at], &lane.repeated[at ^ 1]})
        if (is_earlier(*known, call)) {
            call.repeated = known;
            return;
        }
}

void leave_untimed(Lane& lane, Observed& call) {
    // Messages that no library's default sends by a rendezvous, which a post may begin
    // (docs/internals/watch.md).
    constexpr std::uint64_t short_bytes = 256;
    constexpr std::uint8_t most_untimed = 15;
    Repeated& known = *call.repeated;
    if (!lane.is_busy || lane.keeps_window || known.payload_bytes > short_bytes ||
        known.untimed == most_untimed)
        return;
    ++known.untimed;
    call.is_untimed = true;
    call.start_ticks = call.end_ticks = lane.row->last_ticks;
}

void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload,
                   const Stream& stream) {
    if (is_multiple || seen.lane.is_shared || !seen.plan.repeats || seen.call.error != 0 ||
        seen.call.slot == nullptr || stream.communicator == layout::no_row || stream.peer < 0 ||
        stream.tag < 0 || is_no_address(seen.call.arguments[0]))
        return;
    const std::size_t at = first_place(seen.lane, seen.call);
    const bool is_free = seen.lane.repeated[at].generation != generation;
    Repeated& known = seen.lane.repeated[is_free ? at : at ^ 1];
    std::memcpy(known.arguments, seen.call.arguments + 1, sizeof known.arguments);
    known.event = event;
    known.event.kind &= static_cast<std::uint16_t>(~layout::first);
    known.stream = stream;
    known.generation = generation;
    known.payload_bytes = payload.bytes;
    known.flags = payload.has_gaps ? has_gaps : 0;
    known.untimed = 0;
    std::memset(known.profile, 0, sizeof known.profile);
}

void observe_repeated(const Observed& call, const Plan& plan, Lane& lane) {
    Repeated& known = *call.repeated;
    const bool is_receive = known.stream.is_receive;
    const BufferView buffer =
        view_buffer(reinterpret_cast<const void*>(call.arguments[0]), known.payload_bytes, call.start_ticks);
    const std::uint32_t serial = plan.lasting == Lasting::once ? next_serial() : 0;
    std::uint64_t bytes = known.event.bytes;
    std::uint32_t order = 0, sequence = layout::not_known;
    bool is_numbered = true;
    if (!is_receive) {
        sequence = number_send(known.stream);
    } else if (plan.lasting == Lasting::no) {
        order = post_receive({known.stream.communicator, 0, 0, true, false});
        bytes = read_status(reinterpret_cast<const void*>(argument(call, plan, Role::status))).bytes;
        sequence = number_receive(known.stream, order);
    } else {
        is_numbered = is_certain(known.stream);
        order = post_receive(known.stream);
        if (is_numbered) sequence = number_receive(known.stream, order);
    }
    const std::uint32_t stands_for = call.is_untimed ? 0 : known.untimed + 1U;
    if (!call.is_untimed) known.untimed = 0;
    std::uint32_t* const hint = &known.profile[start_of(buffer.buffer_class)];
    if (!is_receive || plan.lasting == Lasting::no) {  // else when it is complete
        const auto flags = known.flags | (buffer.is_first ? first_use : 0) | (is_receive ? receive_side : 0);
        const ProfileKey key{
            known.event.site, call.call,           size_class(bytes),       static_cast<std::uint8_t>(flags),
            known.event.peer, buffer.buffer_class, known.event.communicator};
        count(
            lane, key,
            {bytes, call.end_ticks - call.start_ticks, buffer.allocation_bytes, !call.is_untimed, stands_for},
            hint);
    }
    const bool is_left_out = leave_out(lane, call.start_ticks);
    // In the place where it stays: a copy of what was just written waits for it.
    const auto describe_in = [&](layout::Event& event) {
        event = known.event;
        event.start_ticks = call.start_ticks;
        event.end_ticks = call.end_ticks;
        event.bytes = bytes;
        event.request = serial;
        event.sequence = sequence;
        event.allocation = buffer.allocation;
        event.start_offset = start_offset_of(call.arguments[0]);
        if (buffer.is_first) event.kind |= layout::first;
    };
    if (plan.lasting == Lasting::once)
        if (Pending* const pending =
                post_again(call, plan, known, buffer, {hint, order, stands_for, is_numbered}))
            describe_in(pending->event);
    if (is_left_out) return;
    layout::Event event;
    describe_in(event);
    add_event(lane, event);
}

}  // namespace slowpath::watch
