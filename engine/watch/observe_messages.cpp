// SPDX-License-Identifier: Apache-2.0
/// Sends, receives, MPI_Sendrecv, and probes, which may take a message out of the queue.
///
/// MPI_Wait and MPI_Test in their eight forms, what starts requests again and what ends them.
#include "watch/communicators.hpp"
#include "watch/events.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/repeated.hpp"
#include "watch/requests.hpp"
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

Stream wanted_stream(const Seen& seen, std::uint16_t communicator) {
    const std::int32_t rank = seen.integer(Role::source), tag = seen.integer(Role::receive_tag);
    return {communicator, rank == library().any_source ? any_rank : rank,
            tag == library().any_tag ? any_tag : tag, true, seen.plan.lasting == Lasting::partitioned};
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
    if (is_any(wanted)) event.kind |= layout::any_source_or_tag;
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
    if (is_any(wanted)) event.kind |= layout::any_source_or_tag;
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
    const auto flags = static_cast<std::uint8_t>(receive_side | (received.has_gaps ? has_gaps : 0));
    keep_repeated(seen, event, sent, {communicator, seen.integer(Role::destination), event.tag, false, false},
                  {wanted, {}, 0, second.peer, received.buffer.buffer_class, flags});
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
    if (is_any(wanted)) event.kind |= layout::any_source_or_tag;
    if (!seen.made(Role::message)) {
        const Arrival arrival = read_status(status_of(seen));
        event.peer = world_rank_of(communicator, arrival.source);
        event.tag = arrival.tag;
        keep_repeated(seen, event, {}, wanted);
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

namespace {

/// The requests of a completing call.
struct Completion {
    const Seen& seen;
    const void* array;
    const char* statuses;  ///< nullptr: not known

    explicit Completion(const Seen& of) : seen(of) {
        array = of.pointer(of.has(Role::requests) ? Role::requests : Role::request);
        const Role role = of.has(Role::statuses) ? Role::statuses : Role::status;
        statuses = of.has(role) ? static_cast<const char*>(of.pointer(role)) : nullptr;
    }

    Word given(std::size_t at) const { return seen.scratch->handles[at]; }
    bool is_gone(std::size_t at) const {
        return library().handle_at(array, at) == library().handle(library().request_null);
    }
    /// Of a call that failed, only what is gone is known to be complete.
    bool is_over(std::size_t at) const { return seen.call.error == 0 || is_gone(at); }
    /// Persistent, and was not started: its handle stays as it was.
    bool is_idle(std::size_t at) const {
        return library().handle_at(array, at) == given(at) && started(given(at)) == 0;
    }
    const void* location(std::size_t at) const {
        return static_cast<const char*>(array) + at * (library().is_handle_pointer ? sizeof(Word) : 4);
    }
    Pending* find(std::size_t at) const {
        if (given(at) == library().handle(library().request_null)) return nullptr;
        if (std::uint32_t site = 0; take_thinned(location(at), site)) {
            request_gone(site);
            return nullptr;
        }
        Pending* pending = find_request(given(at), location(at));
        if (pending == nullptr) request_gone(layout::not_known);
        return pending != nullptr && pending->is_active ? pending : nullptr;
    }
    const void* status(std::size_t at) const {
        return statuses == nullptr ? nullptr : statuses + at * library().status_bytes;
    }
};

/// What the message of a receive turned out to be.
void settle(Pending& pending, layout::Event& done, const void* status) {
    const Arrival arrival = read_status(status);
    const bool is_wild = is_any(pending.stream);
    if (is_wild && !pending.stream.is_partitioned) settle_receive(pending.order);
    if (arrival.is_cancelled && (pending.event.kind & layout::cancelled) != 0) {
        done.kind |= layout::cancelled;
        done.bytes = 0;
        done.sequence = layout::not_known;
        return;
    }
    done.kind &= static_cast<std::uint16_t>(~layout::cancelled);
    if (pending.event.peer == layout::proc_null) return;
    // Of a partitioned receive the status has no length that holds everywhere.
    if (status != nullptr && !pending.stream.is_partitioned) done.bytes = arrival.bytes;
    Stream stream = pending.stream;
    if (stream.peer == any_rank) stream.peer = status == nullptr ? any_rank : arrival.source;
    if (stream.tag == any_tag) stream.tag = status == nullptr ? any_tag : arrival.tag;
    if (is_wild) {
        done.peer = stream.peer == any_rank ? std::int32_t{layout::any}
                                            : world_rank_of(stream.communicator, stream.peer);
        done.tag = stream.tag;
    }
    if (!pending.is_numbered) done.sequence = number_receive(stream, pending.order);
}

/// A receive counts when it is complete, under what it turned out to be, with the time of its post.
void count_receive(const Seen& seen, const Pending& pending, const layout::Event& done) {
    if (pending.repeated != nullptr) pending.repeated->is_whole = done.bytes == pending.event.bytes;
    const ProfileKey key{pending.event.site,
                         pending.event.call,
                         size_class(done.bytes),
                         static_cast<std::uint8_t>(pending.profile_flags | receive_side),
                         done.peer,
                         pending.buffer_class,
                         done.communicator};
    count(seen.lane, key, {done.bytes, pending.post_ticks, pending.allocation_bytes},
          is_multiple ? nullptr : pending.profile_hint);
}

/// A request is complete. @param pending nullptr: it is not followed.
void finish(const Completion& completion, Pending* pending, const void* status) {
    if (pending == nullptr) return;
    const Seen& seen = completion.seen;
    layout::Event done = pending->event;
    done.kind = static_cast<std::uint16_t>((done.kind & ~(layout::post | layout::first | layout::part)) |
                                           layout::done);
    const bool is_receive = (done.kind & layout::receive) != 0 && (done.kind & layout::one_sided) == 0 &&
                            (done.kind & layout::collective) == 0;
    if (is_receive) {
        settle(*pending, done, status);
        if ((done.kind & layout::cancelled) == 0) count_receive(seen, *pending, done);
    }
    if (!leave_out(seen.lane, seen.call.start_ticks)) {
        done.start_ticks = seen.call.start_ticks;
        done.end_ticks = seen.call.end_ticks;
        done.site = seen.slot.site;
        done.call = seen.call.call;
        add_event(seen.lane, done);
    }
    if (pending->lasting > Lasting::once) --started(pending->key - 1);
    pending->is_active = false;
    request_gone(pending->event.site);
    if (pending->lasting == Lasting::once) forget_request(pending);
}

/// MPI_Waitall and its like: receives for any source in the order of their posts, so that their messages can
/// be numbered.
void finish_all(const Completion& completion) {
    struct Late {
        std::uint32_t order;
        std::uint32_t at;
    };
    constexpr std::size_t most_late = 256;
    Late late[most_late];
    std::size_t late_count = 0;
    const Seen& seen = completion.seen;
    const Word null = library().handle(library().request_null);  // most of a list that only grows
    for (std::size_t at = 0; at < seen.scratch->request_count; ++at) {
        if (completion.given(at) == null || !completion.is_over(at) || completion.is_idle(at)) continue;
        Pending* const pending = completion.find(at);
        if (pending == nullptr) continue;
        if (pending->is_numbered || late_count == most_late) {
            finish(completion, pending, completion.status(at));
            continue;
        }
        std::size_t place = late_count++;
        for (; place > 0 && static_cast<std::int32_t>(pending->order - late[place - 1].order) < 0; --place)
            late[place] = late[place - 1];
        late[place] = {pending->order, static_cast<std::uint32_t>(at)};
    }
    for (std::size_t place = 0; place < late_count; ++place)
        finish(completion, completion.find(late[place].at), completion.status(late[place].at));
}

void finish_some(const Completion& completion) {
    const Seen& seen = completion.seen;
    const std::size_t most = seen.scratch->request_count;
    const auto* const indices = static_cast<const std::int32_t*>(seen.pointer(Role::indices));
    // MPI_UNDEFINED is negative. A call that failed need not have written any of these.
    const std::int32_t count = seen.said(Role::out_count);
    if (indices == nullptr || count <= 0 || static_cast<std::size_t>(count) > most) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at)
        if (const auto index = static_cast<std::size_t>(indices[at]);
            index < most && completion.is_over(index))
            finish(completion, completion.find(index), completion.status(at));
}

void finish_any(const Completion& completion) {
    const Seen& seen = completion.seen;
    const std::int32_t index = seen.said(Role::index);
    if (seen.pointer(Role::index) != nullptr && index >= 0 &&
        static_cast<std::size_t>(index) < seen.scratch->request_count &&
        completion.is_over(static_cast<std::size_t>(index)))
        finish(completion, completion.find(static_cast<std::size_t>(index)), completion.status(0));
}

bool found_something(const Seen& seen) {
    if (seen.plan.completes == Completes::some) return seen.said(Role::out_count) != 0;
    return !seen.has(Role::flag) || seen.said(Role::flag) != 0;
}

void start_one(const Seen& seen, Word handle, const void* location, bool is_first) {
    Pending* const pending = find_request(handle, location);
    layout::Event unknown;
    // Changed where it is: a copy of what was just written waits for it.
    layout::Event& event = pending != nullptr ? pending->event : unknown = event_of(seen);
    Payload payload;
    if (pending != nullptr) {
        event.request = next_serial();
        event.site = seen.slot.site;
        event.call = seen.call.call;
        if (!pending->is_active) ++started(pending->key - 1);
        pending->is_active = true;
        pending->post_ticks = is_first ? seen.ticks() : 0;
        const bool has_peer = event.peer != layout::proc_null;
        if ((event.kind & layout::collective) != 0) {
            event.sequence = number_collective(event.communicator);
        } else if ((event.kind & layout::send) != 0 && has_peer) {
            event.sequence = number_send(pending->stream);
        } else if (has_peer) {
            pending->is_numbered = is_certain(pending->stream);
            pending->order = post_receive(pending->stream);
            event.sequence =
                pending->is_numbered ? number_receive(pending->stream, pending->order) : layout::not_known;
        }
        event.kind =
            static_cast<std::uint16_t>((event.kind & ~(layout::first | layout::part)) | layout::post);
        event.start_ticks = seen.call.start_ticks;
        event.end_ticks = seen.call.end_ticks;
        payload.buffer.buffer_class = pending->buffer_class;
    }
    if (!is_first) event.kind |= layout::part;
    if ((event.kind & layout::receive) == 0 ||
        (event.kind & layout::collective) != 0)  // else when it is complete
        count_event(seen, event, payload, is_first ? Timed::yes : Timed::no);
    add_event(seen.lane, event);
}

}  // namespace

void observe_completion(const Seen& seen) {
    layout::Event event = event_of(seen);
    if (seen.scratch == nullptr) return keep_event(seen, event, {});
    event.requests = static_cast<std::uint32_t>(seen.scratch->request_count);
    if (!found_something(seen)) {
        seen.lane.found_nothing = true;
        event.kind |= layout::found_nothing;
        return keep_event(seen, event, {});
    }
    keep_event(seen, event, {});
    const SpinGuard guard(shared_state, is_multiple);
    const Completion completion(seen);
    switch (seen.plan.completes) {
        case Completes::one:
            if (completion.is_over(0)) finish(completion, completion.find(0), completion.status(0));
            return;
        case Completes::all:
            return finish_all(completion);
        case Completes::any:
            return finish_any(completion);
        case Completes::some:
            return finish_some(completion);
    }
}

void observe_start(const Seen& seen) {
    const SpinGuard guard(shared_state, is_multiple);
    if (seen.scratch == nullptr || seen.call.error != 0) return keep_event(seen, event_of(seen), {});
    const Completion completion(seen);
    for (std::size_t at = 0; at < seen.scratch->request_count; ++at)
        start_one(seen, completion.given(at), completion.location(at), at == 0);
}

void observe_cancel(const Seen& seen) {
    const SpinGuard guard(shared_state, is_multiple);
    count_event(seen, event_of(seen), {}, Timed::yes);
    if (seen.scratch == nullptr) return;
    Pending* const pending = Completion(seen).find(0);
    if (pending == nullptr) return;
    pending->event.kind |= layout::cancelled;
    if (pending->stream.is_receive && pending->is_numbered && take_back(pending->stream, pending->order))
        pending->is_numbered = false;
}

void observe_free_request(const Seen& seen) {
    const SpinGuard guard(shared_state, is_multiple);
    count_event(seen, event_of(seen), {}, Timed::yes);
    if (seen.scratch == nullptr || seen.call.error != 0) return;
    const Completion completion(seen);
    Pending* const pending = find_request(completion.given(0), completion.location(0));
    if (pending == nullptr) return request_gone(layout::not_known);
    if (pending->is_active) {
        request_gone(pending->event.site);
        if (pending->lasting > Lasting::once) --started(pending->key - 1);
    }
    // What an active receive for any source gets will not be seen: it stays open.
    forget_request(pending);
}

}  // namespace slowpath::watch
