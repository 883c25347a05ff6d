// SPDX-License-Identifier: Apache-2.0
/// Sends, receives, MPI_Sendrecv, and probes, which may take a message out of the queue.
#include "watch/communicators.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/repeated.hpp"
#include "watch/statuses.hpp"
#include "watch/streams.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

/// A message that a matched probe has taken.
struct Message {
    std::uint64_t key;  ///< 1 + handle
    std::int32_t peer;  ///< world rank
    std::int32_t tag;
    std::uint32_t sequence;
    std::uint16_t communicator;
};
constinit Table<Message, 64, 65536> messages{};

std::int32_t wanted_rank(std::int32_t rank) {
    return rank == library().any_source ? any_rank : rank;
}

std::int32_t wanted_tag(std::int32_t tag) {
    return tag == library().any_tag ? any_tag : tag;
}

Stream wanted_stream(const Seen& seen, std::uint16_t communicator) {
    return {communicator, wanted_rank(seen.integer(Role::source)),
            wanted_tag(seen.integer(Role::receive_tag)), true, seen.plan.lasting == Lasting::partitioned};
}

std::uint64_t partitions_of(const Seen& seen) {
    return seen.has(Role::partitions) ? static_cast<std::uint32_t>(seen.integer(Role::partitions)) : 1;
}

const void* status_of(const Seen& seen) {
    return seen.has(Role::status) ? seen.pointer(Role::status) : nullptr;
}

/// What arrived, in the place of what was asked for; and which message of its stream it was.
void arrive(layout::Event& event, const Stream& wanted, std::uint32_t order, const void* status) {
    const Arrival arrival = read_status(status);
    Stream stream = wanted;
    if (wanted.peer == any_rank) stream.peer = arrival.source;
    if (wanted.tag == any_tag) stream.tag = arrival.tag;
    event.bytes = arrival.bytes;
    event.peer = world_rank_of(wanted.communicator, stream.peer);
    event.tag = stream.tag;
    event.sequence = number_receive(stream, order);
}

bool is_proc_null(std::int32_t rank) {
    return rank == library().proc_null;
}

/// Destination, tag, bytes and number of the sending side of a call.
void describe_send(const Seen& seen, layout::Event& event, std::uint16_t communicator) {
    const std::int32_t rank = seen.integer(Role::destination);
    event.communicator = communicator;
    event.peer = world_rank_of(communicator, rank);
    event.tag = seen.integer(Role::send_tag);
    if (is_proc_null(rank))
        event.bytes = 0;
    else if (seen.plan.lasting <= Lasting::once && seen.call.error == 0)
        event.sequence = number_send({communicator, rank, event.tag, false, false});
}

/// A receive that waited for its message.
void finish_receive(const Seen& seen, layout::Event& event, Payload& payload, const Stream& wanted) {
    describe(event, payload);
    event.communicator = wanted.communicator;
    if (wanted.peer == any_rank || wanted.tag == any_tag) event.kind |= layout::any_source_or_tag;
    if (is_proc_null(wanted.peer)) {
        event.peer = layout::proc_null;
        event.bytes = 0;
        return;
    }
    const std::uint32_t order = post_receive({wanted.communicator, 0, 0, true, false});
    arrive(event, wanted, order, status_of(seen));
}

void post_receive_request(const Seen& seen, layout::Event& event, const Payload& payload,
                          const Stream& wanted) {
    describe(event, payload);
    event.communicator = wanted.communicator;
    event.peer =
        wanted.peer == any_rank ? std::int32_t{layout::any} : world_rank_of(wanted.communicator, wanted.peer);
    event.tag = wanted.tag == any_tag ? std::int32_t{layout::any} : wanted.tag;
    if (wanted.peer == any_rank || wanted.tag == any_tag) event.kind |= layout::any_source_or_tag;
    bool is_numbered = is_proc_null(wanted.peer);
    std::uint32_t order = 0;
    event.sequence = is_numbered ? 0 : layout::not_known;
    if (is_numbered) {
        event.bytes = 0;
    } else if (seen.plan.lasting == Lasting::once && seen.call.error == 0) {
        is_numbered = is_certain(wanted);
        order = post_receive(wanted);
        if (is_numbered) event.sequence = number_receive(wanted, order);
    }
    event.request = seen.plan.lasting == Lasting::once ? next_serial() : 0;
    if (Pending* const pending = post_request(seen, event, payload)) {
        pending->stream = wanted;
        pending->order = order;
        pending->is_numbered = is_numbered;
    }
    if (seen.plan.lasting > Lasting::once) return keep_preparation(seen, event, payload);
    keep_repeated(seen, event, payload, wanted);
    add_event(seen.lane, event);
}

}  // namespace

void observe_send(const Seen& seen) {
    Payload payload = view_payload(seen, Role::send_buffer, Role::send_count, Role::send_datatype);
    payload.bytes *= partitions_of(seen);
    layout::Event event = event_of(seen);
    describe(event, payload);
    const SpinGuard guard(shared_state, is_multiple);
    describe_send(seen, event, row_of(seen));
    if (seen.plan.lasting != Lasting::no) {
        if (seen.plan.lasting == Lasting::once) event.request = next_serial();
        if (Pending* const pending = post_request(seen, event, payload))
            pending->stream = {event.communicator, seen.integer(Role::destination), event.tag, false,
                               seen.plan.lasting == Lasting::partitioned};
    }
    if (seen.plan.lasting > Lasting::once) return keep_preparation(seen, event, payload);
    keep_repeated(seen, event, payload,
                  {event.communicator, seen.integer(Role::destination), event.tag, false, false});
    keep_event(seen, event, payload);
}

void observe_receive(const Seen& seen) {
    Payload payload = view_payload(seen, Role::receive_buffer, Role::receive_count, Role::receive_datatype);
    payload.bytes *= partitions_of(seen);
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    const Stream wanted = wanted_stream(seen, row_of(seen));
    if (seen.plan.lasting != Lasting::no) return post_receive_request(seen, event, payload, wanted);
    finish_receive(seen, event, payload, wanted);
    keep_repeated(seen, event, payload, wanted);
    keep_event(seen, event, payload);
}

void observe_exchange(const Seen& seen) {
    const bool is_replace = !seen.has(Role::receive_buffer);
    Payload sent = view_payload(seen, Role::send_buffer, Role::send_count, Role::send_datatype);
    Payload received =
        is_replace ? sent
                   : view_payload(seen, Role::receive_buffer, Role::receive_count, Role::receive_datatype);
    layout::Event event = event_of(seen);
    describe(event, sent);
    const SpinGuard guard(shared_state, is_multiple);
    const std::uint16_t communicator = row_of(seen);
    describe_send(seen, event, communicator);
    layout::Event second = event_of(seen);
    second.kind = static_cast<std::uint16_t>((event.kind & ~layout::send) | layout::receive | layout::part);
    const Stream wanted = wanted_stream(seen, communicator);
    if (seen.plan.lasting == Lasting::once) {
        // One request for both sides: the receive's, which ends last.
        keep_event(seen, event, sent);
        return post_receive_request(seen, second, received, wanted);
    }
    finish_receive(seen, second, received, wanted);
    keep_event(seen, event, sent);
    count_event(seen, second, received, Timed::no);
    add_event(seen.lane, second);
}

void observe_matched_receive(const Seen& seen) {
    Payload payload = view_payload(seen, Role::receive_buffer, Role::receive_count, Role::receive_datatype);
    layout::Event event = event_of(seen);
    describe(event, payload);
    const SpinGuard guard(shared_state, is_multiple);
    event.sequence = layout::not_known;
    if (Message* const message =
            seen.scratch == nullptr ? nullptr : messages.find(seen.scratch->handle + 1)) {
        event.peer = message->peer;
        event.tag = message->tag;
        event.sequence = message->sequence;
        event.communicator = message->communicator;
        messages.erase(message);
    }
    if (seen.plan.lasting == Lasting::once) {
        event.request = next_serial();
        if (Pending* const pending = post_request(seen, event, payload))
            pending->stream = {event.communicator, 0, 0, true, false};
        return add_event(seen.lane, event);
    }
    event.bytes = read_status(status_of(seen)).bytes;
    keep_event(seen, event, payload);
}

void observe_probe(const Seen& seen) {
    layout::Event event = event_of(seen);
    const bool found = !seen.has(Role::flag) || seen.said(Role::flag) != 0;
    const SpinGuard guard(shared_state, is_multiple);
    const std::uint16_t communicator = row_of(seen);
    const Stream wanted = wanted_stream(seen, communicator);
    event.communicator = communicator;
    if (!found) {
        seen.lane.found_nothing = true;
        event.kind |= layout::found_nothing;
        event.peer =
            wanted.peer == any_rank ? std::int32_t{layout::any} : world_rank_of(communicator, wanted.peer);
        return keep_event(seen, event, {});
    }
    if (wanted.peer == any_rank || wanted.tag == any_tag) event.kind |= layout::any_source_or_tag;
    if (!seen.made(Role::message)) {
        const Arrival arrival = read_status(status_of(seen));
        event.peer = world_rank_of(communicator, arrival.source);
        event.tag = arrival.tag;
        return keep_event(seen, event, {});
    }
    const std::uint32_t order = post_receive({communicator, 0, 0, true, false});
    arrive(event, wanted, order, status_of(seen));
    if (Message* const message = messages.put(library().handle_at(seen.pointer(Role::message), 0) + 1)) {
        message->peer = event.peer;
        message->tag = event.tag;
        message->sequence = event.sequence;
        message->communicator = communicator;
    }
    event.bytes = 0;  // its receive has them
    keep_event(seen, event, {});
}

void begin_messages() {
    messages.clear();
}

}  // namespace slowpath::watch
