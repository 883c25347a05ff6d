// SPDX-License-Identifier: Apache-2.0
#include "watch/repeated.hpp"

#include <algorithm>
#include <bit>

#include "watch/clock.hpp"
#include "watch/communicators.hpp"
#include "watch/events.hpp"
#include "watch/library.hpp"
#include "watch/python.hpp"
#include "watch/requests.hpp"
#include "watch/sites.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit std::uint32_t generation = 1;

/// The first of the two places where a call of a site, partner and tag may be kept; the other is beside it.
/// With one place alone, a send and a receive of a loop that share it would push each other out in every
/// round.
std::size_t first_place(const Lane& lane, const Observed& call, const Plan& plan) {
    auto key = static_cast<std::uint64_t>(call.slot - lane.sites);
    for (std::size_t at = 0; at < plan.fixed_count; ++at)
        key = std::rotl(key, 9) ^ call.arguments[plan.fixed[at]];
    return scatter(key) % Lane::repeated_slots;
}

/// Of these view_payload knows no buffer.
bool is_no_address(Word buffer) {
    return buffer == library().bottom || buffer == library().in_place;
}

/// Word by word: a comparison of wider parts would wait for the wrapper's stores.
bool is_same(const Repeated& known, const Word* arguments, const Plan& plan) {
    bool is_other = false;
    for (std::size_t at = 0; at < plan.fixed_count; ++at)
        is_other |= known.arguments[at] != arguments[plan.fixed[at]];
    return !is_other;
}

bool is_in_place(const Observed& call, const Plan& plan) {
    return plan.action == Action::collective && plan.has(Role::send_buffer) &&
           plan.of(call.arguments, Role::send_buffer) == library().in_place;
}

bool is_earlier(const Repeated& known, const Observed& call, const Plan& plan) {
    return known.generation == generation && known.event.call == call.call &&
           known.event.site == call.slot->site && is_same(known, call.arguments, plan) &&
           known.is_in_place == is_in_place(call, plan);
}

/// Position of the buffer that a call's payload is viewed in. Of a collective it is the one that is given,
/// where there is one.
std::uint8_t buffer_of(const Observed& call, const Plan& plan, const layout::Event& event) {
    if (plan.packs) return Repeated::no_buffer;
    const bool is_collective = (event.kind & layout::collective) != 0;
    const bool gives = is_collective ? (event.kind & layout::receive) == 0 && !is_in_place(call, plan)
                                     : (event.kind & layout::send) != 0;
    const bool is_result = !gives && (!is_collective || plan.has(Role::receive_buffer));
    const int at = plan.at[static_cast<std::size_t>(is_result ? Role::receive_buffer : Role::send_buffer)];
    return at < 0 ? Repeated::no_buffer : static_cast<std::uint8_t>(at);
}

}  // namespace

void forget_repeated() {
    ++generation;
}

void find_repeated(Lane& lane, Observed& call, const Plan& plan) {
    if (lane.is_shared) return;
    // A loop that sends the parts of an array has another address in each call: the address does not matter.
    call.slot = &find_site(lane, call);
    Repeated* known = &lane.repeated[call.slot->repeated];
    if (!is_earlier(*known, call, plan)) {
        const std::size_t at = first_place(lane, call, plan);
        known = &lane.repeated[at];
        if (!is_earlier(*known, call, plan)) known = &lane.repeated[at ^ 1];
        if (!is_earlier(*known, call, plan)) return;
        call.slot->repeated = static_cast<std::uint32_t>(known - lane.repeated);
    }
    if (known->buffer_at == Repeated::no_buffer || !is_no_address(call.arguments[known->buffer_at]))
        call.repeated = known;
}

namespace {

/// Numbers one of which nothing else is kept. @return False: it cannot be done without a closer look.
bool count_again(Repeated& known, const Plan& plan) {
    const bool is_exchange = plan.action == Action::exchange;
    if (plan.action == Action::collective) number_collective(known.event.communicator);
    const bool is_numbered_later = is_any(known.stream) || plan.action == Action::probe;
    if (plan.action == Action::collective || plan.packs || is_numbered_later ||
        (known.event.kind & layout::one_sided) != 0)
        return true;
    if (is_exchange && !count_message(known.arrival.stream, known.arrival.counter)) return false;
    const bool can_count = known.is_whole || plan.lasting == Lasting::no;
    // Without room for its stream no message sent in an exchange has a number.
    return (can_count && count_message(known.stream, known.counter)) || is_exchange;
}

void leave_untimed(const Lane& lane, Observed& call, std::uint64_t ticks) {
    call.is_untimed = true;
    call.start_ticks = lane.row->last_ticks;
    call.end_ticks = call.start_ticks + ticks;
}

}  // namespace

void thin(Lane& lane, Observed& call, const Plan& plan) {
    // No library's default sends these by a rendezvous, which a post may begin (docs/internals/watch.md).
    constexpr std::uint64_t short_bytes = 2048;
    constexpr std::uint8_t most_untimed = 58;  // one in 59: no multiple of is_measured's 61
    Repeated& known = *call.repeated;
    const bool has_room = !plan.packs && lane.keeps_window && lane.events.used() != lane.events.capacity();
    if (!lane.is_busy || has_room || known.payload_bytes > short_bytes || known.untimed == most_untimed) {
        known.untimed = 0;
        return;
    }
    call.is_thinned = count_again(known, plan);
    if (plan.returns_at_once || call.is_thinned) ++known.untimed;
    if (plan.returns_at_once) leave_untimed(lane, call, known.ticks);  // others may wait
}

namespace {

bool is_long(std::uint64_t ticks) {
    constexpr double long_ns = 2000;
    return static_cast<double>(static_cast<std::int64_t>(ticks)) * ns_per_tick >= long_ns;
}

/// @param ticks Of all of them; 0: they were not timed.
void add_thinned(Lane& lane, const Repeated& known, unsigned start, std::uint32_t calls, std::uint64_t bytes,
                 std::uint64_t ticks) {
    lane.row->call_ticks += ticks;
    lane.row->calls += calls;
    lane.row->events_seen += calls;
    lane.row->thinned += calls;
    sections().calls[known.event.call].calls += calls;
    const std::uint16_t buffer_class = with_start(known.buffer.buffer_class, start);
    const ProfileKey key{known.event.site, known.event.call, size_class(bytes),       known.flags,
                         known.event.peer, buffer_class,     known.event.communicator};
    count(lane, key, {bytes * calls, ticks, known.buffer.allocation_bytes, calls}, nullptr);
}

Arrival arrival_of(const Observed& call, const Plan& plan) {
    return read_status(reinterpret_cast<const void*>(plan.of(call.arguments, Role::status)));
}

/// The other side of an exchange, whose time is counted on the side that sends.
void count_arrival(Lane& lane, Repeated& known, std::uint64_t bytes) {
    Arriving& arrival = known.arrival;
    ++lane.row->events_seen;
    count(lane,
          {known.event.site, known.event.call, size_class(bytes), arrival.flags, arrival.peer,
           arrival.buffer_class, known.event.communicator},
          {bytes, 0, 0}, &arrival.profile);
}

void count_thinned(Lane& lane, Repeated& known) {
    for (unsigned start = 0; start < sizeof known.thinned / sizeof known.thinned[0]; ++start) {
        if (known.thinned[start] != 0)
            add_thinned(lane, known, start, known.thinned[start], known.event.bytes,
                        known.thinned_ticks[start]);
        known.thinned[start] = 0;
        known.thinned_ticks[start] = 0;
    }
}

/// Of a receive or probe for any source or tag: counted with the rank whose message it was.
void count_sender(Lane& lane, Repeated& known, const Plan& plan, const Arrival& arrival) {
    const Stream stream{known.stream.communicator, arrival.source, arrival.tag, true, false};
    if (plan.action == Action::receive) number_receive(stream, post_receive(stream));
    const std::int32_t peer = world_rank_of(stream.communicator, stream.peer);
    if (peer == known.event.peer) return;
    count_thinned(lane, known);
    known.event.peer = peer;
}

}  // namespace

void note_time(const Observed& call) {
    const std::uint64_t ticks = call.end_ticks - call.start_ticks;
    if (!is_long(ticks)) call.repeated->ticks = ticks;
}

void observe_thinned(const Observed& call, const Plan& plan, Lane& lane) {
    Repeated& known = *call.repeated;
    const bool has_buffer = known.buffer_at != Repeated::no_buffer;
    const unsigned start = has_buffer ? start_of(start_class(call.arguments[known.buffer_at])) : 0;
    const std::uint64_t ticks = call.end_ticks - call.start_ticks;
    if (plan.ends_epoch && call.error == 0) end_epoch(plan.of(call.arguments, Role::window));
    if (plan.lasting == Lasting::once) {
        remember_thinned(reinterpret_cast<const void*>(plan.of(call.arguments, Role::request)),
                         known.event.site);
    } else if (plan.action == Action::exchange) {
        count_arrival(lane, known, arrival_of(call, plan).bytes);
    } else if (known.stream.is_receive) {
        const Arrival arrival = arrival_of(call, plan);
        if (is_any(known.stream) && call.error == 0) count_sender(lane, known, plan, arrival);
        const std::uint64_t bytes = plan.action == Action::probe ? 0 : arrival.bytes;
        if (bytes != known.event.bytes) return add_thinned(lane, known, start, 1, bytes, ticks);
    }
    if (is_long(ticks))  // shows as such
        return add_thinned(lane, known, start, 1, known.event.bytes, ticks);
    known.thinned_ticks[start] += ticks;
    ++known.thinned[start];
    lane.has_thinned = true;
}

void count_thinned(Lane& lane) {
    if (!lane.has_thinned) return;
    lane.has_thinned = false;
    for (Repeated& known : lane.repeated) count_thinned(lane, known);
}

namespace {

/// Counts those that were not timed since, as if each had taken what the last one took that was.
void settle(Lane& lane, CountedPlace& place) {
    if (place.untimed == 0) return;
    const std::uint64_t ticks = place.untimed * place.ticks;
    lane.row->call_ticks += ticks;
    lane.row->calls += place.untimed;
    lane.row->thinned += place.untimed;
    if (plans[place.call].is_test) lane.row->events_seen += place.untimed;
    sections().calls[place.call].calls += place.untimed;
    place.row->count += place.untimed;
    place.row->ticks += ticks;
    place.untimed = 0;
}

Word probed(const Observed& call, const Plan& plan, Role role) {
    return plan.action == Action::probe ? plan.of(call.arguments, role) : 0;
}

bool found_nothing(const Observed& call, const Plan& plan) {
    const Role role = plan.completes == Completes::some ? Role::out_count : Role::flag;
    const auto* const found = reinterpret_cast<const std::int32_t*>(plan.of(call.arguments, role));
    return call.error == 0 && found != nullptr && *found == 0;
}

}  // namespace

void sample(Lane& lane, Observed& call, const Plan& plan) {
    const Word source = probed(call, plan, Role::source);
    CountedPlace& place = lane.places[CountedPlace::slot(call.caller, call.frame, source)];
    if (!place.is_of(call.caller, call.frame, call.call, source, probed(call, plan, Role::communicator)))
        return;
    call.place = &place;
    const bool goes_on = !plan.is_test || (lane.current != nullptr && lane.current->doing == layout::polling);
    place.since_ticks = goes_on ? lane.row->last_ticks : 0;
    if (!goes_on || !place.skips()) return;
    if (plan.is_test) ++lane.untimed_polls;
    call.is_thinned = true;
    leave_untimed(lane, call, 0);
}

bool observe_untimed(Observed& call, const Plan& plan, Lane& lane) {
    if (!plan.is_test || found_nothing(call, plan)) return true;
    const CountedPlace& place = *call.place;
    --call.place->untimed;
    call.is_thinned = call.is_untimed = false;
    call.end_ticks = now_ticks();
    const std::uint64_t room = call.end_ticks - std::min(call.end_ticks, lane.row->last_ticks);
    call.start_ticks = call.end_ticks - std::min(room, place.ticks);
    const std::uint32_t used = lane.events.used();  // the loop's event, which ends here
    if (lane.keeps_window && used > 0 && (lane.events[used - 1].kind & layout::found_nothing) != 0)
        lane.events[used - 1].end_ticks = call.start_ticks;
    return false;
}

CountedPlace& keep_place(Lane& lane, const CountedPlace& place) {
    CountedPlace& slot = lane.places[CountedPlace::slot(place.caller, place.frame, place.source)];
    settle(lane, slot);
    return slot = place;
}

void keep_place(const Seen& seen) {
    constexpr std::uint64_t enough = 16;  // rare ones are all timed
    Lane& lane = seen.lane;
    const Observed& call = seen.call;
    const bool is_poll = seen.plan.is_test;
    if (is_multiple || lane.is_shared || seen.slot.profile == 0 ||
        (is_poll ? !found_nothing(call, seen.plan) : is_python_there()))
        return;
    CountedPlace& place = call.place != nullptr
                              ? *call.place
                              : keep_place(lane, {.caller = call.caller,
                                                  .frame = call.frame,
                                                  .source = probed(call, seen.plan, Role::source),
                                                  .communicator = probed(call, seen.plan, Role::communicator),
                                                  .call = call.call});
    const bool is_usual = !is_long(seen.ticks());
    if (is_usual) place.ticks = seen.ticks() - std::min(seen.ticks(), read_ticks);
    settle(lane, place);
    place.row = &lane.profile[seen.slot.profile - 1];
    if (is_usual && (is_poll ? place.since_ticks != 0 : place.row->count >= enough)) {
        // To time one is to take 3 % of the time at most.
        constexpr std::uint64_t most_share = 33, longest = 63;
        const std::uint64_t passed_ticks = is_poll ? call.end_ticks - place.since_ticks : seen.ticks();
        const std::uint64_t each_ns = duration_ns(passed_ticks) / (is_poll ? lane.untimed_polls + 1 : 1);
        const std::uint64_t rest = header().call_cost_ns * most_share / (each_ns + 1);
        place.most = static_cast<std::uint8_t>(std::min(rest, longest));
    }
    place.left = place.most;
}

void settle_lane(Lane& lane) {
    count_thinned(lane);
    for (CountedPlace& place : lane.places) settle(lane, place);
}

void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload, const Stream& stream,
                   const Arriving& arrival) {
    if (seen.call.repeated != nullptr) {
        seen.call.repeated->buffer = payload.buffer;
        return;
    }
    const std::uint8_t buffer_at = buffer_of(seen.call, seen.plan, event);
    const bool has_buffer = buffer_at != Repeated::no_buffer;
    if (is_multiple || seen.lane.is_shared || !seen.plan.repeats() || seen.call.error != 0 ||
        seen.call.slot == nullptr || (event.communicator == layout::no_row && !seen.plan.packs) ||
        (seen.plan.has(Role::receive_counts) && is_in_place(seen.call, seen.plan)) ||
        (stream.peer < 0 && stream.peer != any_rank) || (stream.tag < 0 && stream.tag != any_tag) ||
        (is_any(stream) && seen.plan.lasting != Lasting::no) || arrival.stream.peer < 0 ||
        arrival.stream.tag < 0 || (has_buffer && is_no_address(seen.call.arguments[buffer_at])))
        return;
    const std::size_t at = first_place(seen.lane, seen.call, seen.plan);
    const bool is_free = seen.lane.repeated[at].generation != generation;
    Repeated& known = seen.lane.repeated[is_free ? at : at ^ 1];
    count_thinned(seen.lane, known);
    for (std::size_t place = 0; place < seen.plan.fixed_count; ++place)
        known.arguments[place] = seen.call.arguments[seen.plan.fixed[place]];
    known.event = event;
    known.event.kind &= static_cast<std::uint16_t>(~layout::first);
    known.stream = stream;
    known.generation = generation;
    known.payload_bytes = payload.bytes;
    known.flags = static_cast<std::uint8_t>((payload.has_gaps ? has_gaps : 0) |
                                            ((event.kind & layout::receive) != 0 ? receive_side : 0));
    known.buffer_at = buffer_at;
    known.untimed = 0;
    known.ticks = is_long(seen.ticks()) ? 0 : seen.ticks();
    known.is_whole = !stream.is_receive;
    known.is_in_place = is_in_place(seen.call, seen.plan);
    known.counter = {};
    known.arrival = arrival;
    known.buffer = payload.buffer;
}

}  // namespace slowpath::watch
