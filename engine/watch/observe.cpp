// SPDX-License-Identifier: Apache-2.0
/// Before and after each call: the recorder's two entries.
///
/// One-sided communication: transfers, and the epochs of their windows.
///
/// Collectives: what this rank gives, and which one on its communicator it is.
#include "watch/observe.hpp"

#include <atomic>
#include <utility>

#include "watch/communicators.hpp"
#include "watch/datatypes.hpp"
#include "watch/lanes.hpp"
#include "watch/library.hpp"
#include "watch/repeated.hpp"
#include "watch/sites.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {

constinit SpinLock shared_state{};

namespace {

void observe(const Seen& seen) {
    switch (seen.plan.action) {
        case Action::send:
            return observe_send(seen);
        case Action::receive:
            return observe_receive(seen);
        case Action::matched_receive:
            return observe_matched_receive(seen);
        case Action::exchange:
            return observe_exchange(seen);
        case Action::start:
            return observe_start(seen);
        case Action::complete:
            return observe_completion(seen);
        case Action::cancel:
            return observe_cancel(seen);
        case Action::free_request:
            return observe_free_request(seen);
        case Action::probe:
            return observe_probe(seen);
        case Action::collective:
            return observe_collective(seen);
        case Action::transfer:
            return observe_transfer(seen);
        case Action::epoch:
            return observe_epoch(seen);
        case Action::make_window:
            return observe_window_made(seen);
        case Action::free_window:
            forget_repeated();
            return observe_window_freed(seen);
        case Action::make_communicator:
            return observe_communicator_made(seen);
        case Action::free_communicator:
            forget_repeated();
            return observe_communicator_freed(seen);
        case Action::name_communicator:
            return observe_communicator_named(seen);
        case Action::free_datatype:
            forget_repeated();
            if (seen.scratch != nullptr) datatype_freed(seen.scratch->handle);
            break;
        case Action::plain:
            return observe_plain(seen);
        case Action::begin:
        case Action::end_session:
            break;
    }
    count_event(seen, event_of(seen), {}, Timed::yes);
}

void count_call(Lane& lane, const Observed& call) {
    layout::Lane& row = *lane.row;
    ++row.calls;
    row.call_ticks += call.end_ticks - call.start_ticks;
    if (!call.is_untimed) row.last_ticks = call.end_ticks;
    std::uint64_t& calls = sections().calls[call.call].calls;
    if (is_multiple)
        std::atomic_ref(calls).fetch_add(1, std::memory_order_relaxed);
    else
        ++calls;
}

[[gnu::noinline]] void after_other(Lane& lane, const Observed& call, const Plan& plan, Scratch* scratch) {
    {
        const SpinGuard guard(lane.lock, lane.is_shared);
        count_call(lane, call);
        lane.found_nothing = false;
        const Seen seen{call, plan, lane, scratch, call.slot != nullptr ? *call.slot : find_site(lane, call)};
        observe(seen);
        if (plan.is_test || plan.is_sampled) keep_place(seen);
        lane.untimed_polls = 0;
        if (plan.is_shown) hide(lane);
        if (plan.action == Action::begin) note_start(call);
        if (plan.action == Action::end_session && call.error == 0) note_session_end();
        if (plan.action == Action::end_session && call.error != 0 && scratch != nullptr)
            session_begun(scratch->handle);
    }
    if (scratch != nullptr) release(*scratch);
}

}  // namespace

[[gnu::flatten]] Scratch* before(Observed& call) {
    if (recording == 0) [[unlikely]]
        return nullptr;
    const Plan& plan = plans[call.call];
    Lane& lane = current_lane();
    Scratch* const scratch = plan.keeps ? prepare(call, plan) : nullptr;
    if (plan.repeats() && !is_multiple) {
        find_repeated(lane, call, plan);
        if (call.repeated != nullptr) thin(lane, call, plan);
    }
    if ((plan.is_test || plan.is_sampled) && !is_multiple && !lane.is_shared) sample(lane, call, plan);
    if (plan.is_shown && (call.place == nullptr || !call.is_thinned)) show(lane, call, plan, scratch);
    if (plan.action == Action::end_session && scratch != nullptr) session_ends(scratch->handle);
    return scratch;
}

[[gnu::flatten]] void after(Observed& call, Scratch* scratch) {
    if (recording == 0) [[unlikely]]
        return;
    Lane& lane = current_lane();
    const Plan& plan = plans[call.call];
    if (call.repeated != nullptr && !call.is_untimed) note_time(call);
    if (call.is_thinned && call.repeated != nullptr) {
        lane.found_nothing = false;
        observe_thinned(call, plan, lane);
        if (plan.is_shown) hide(lane);
        return;
    }
    if (call.is_thinned && call.place != nullptr && observe_untimed(call, plan, lane)) {
        if (scratch != nullptr) release(*scratch);
        return;
    }
    after_other(lane, call, plan, scratch);
}

void observe_communicator_made(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    if ((seen.plan.kind & layout::collective) != 0) {
        event.communicator = row_of(seen);
        event.sequence = number_collective(event.communicator);
    }
    if (seen.plan.lasting == Lasting::once && seen.call.error == 0) {
        event.request = next_serial();
        post_request(seen, event, {});
    }
    keep_event(seen, event, {});
    if (seen.made(Role::new_communicator))
        communicator_made(library().handle_at(seen.pointer(Role::new_communicator), 0), seen.call.call,
                          seen.call.arguments);
}

void observe_communicator_freed(const Seen& seen) {
    const SpinGuard guard(shared_state, is_multiple);
    count_event(seen, event_of(seen), {}, Timed::yes);
    if (seen.scratch != nullptr && seen.call.error == 0) communicator_freed(seen.scratch->handle);
}

void observe_communicator_named(const Seen& seen) {
    const SpinGuard guard(shared_state, is_multiple);
    count_event(seen, event_of(seen), {}, Timed::yes);
    if (seen.made(Role::name))
        communicator_named(seen.word(Role::communicator), static_cast<const char*>(seen.pointer(Role::name)));
}

namespace {

/// Of a file, too: what is collective on it is numbered as fences are.
struct Window {
    std::uint64_t key;  ///< 1 + handle
    std::uint32_t epoch;
    std::uint16_t communicator;
};
constinit Table<Window, 64, 65536> windows{};

Window* window_of(const Seen& seen) {
    return windows.find(library().handle(seen.word(Role::window)) + 1);
}

/// Of what goes from one datatype into another, MPI copies the shorter stretches.
void take_shorter(const Seen& seen, layout::Event& event, Role datatype) {
    if (event.bytes == 0 || seen.call.error != 0 || !seen.has(datatype)) return;
    const DatatypeView type = view_datatype(seen.word(datatype));
    const auto stretch_bytes = [](std::uint16_t row) {
        const layout::Datatype& known = sections().datatypes[row];
        return known.blocks == 0 ? UINT64_MAX : known.bytes / known.blocks;
    };
    if (type.row != contiguous &&
        (event.datatype == contiguous || stretch_bytes(type.row) < stretch_bytes(event.datatype)))
        event.datatype = type.row;
}

/// Window, peer and epoch.
void place(const Seen& seen, layout::Event& event, const Window* window) {
    event.sequence = layout::not_known;
    if (window == nullptr) return;
    event.communicator = window->communicator;
    event.sequence = window->epoch;
    if (seen.has(Role::target)) event.peer = world_rank_of(window->communicator, seen.integer(Role::target));
}

bool is_by(const Seen& seen, Word operation) {
    return seen.has(Role::operation) &&
           library().handle(seen.word(Role::operation)) == library().handle(operation);
}

/// Where the target's data goes. MPI_Fetch_and_op has one datatype for both sides.
Payload view_result(const Seen& seen) {
    const Role datatype = seen.has(Role::receive_datatype) ? Role::receive_datatype : Role::send_datatype;
    return view_payload(seen, Role::receive_buffer, Role::receive_count, datatype);
}

}  // namespace

void observe_transfer(const Seen& seen) {
    // With MPI_NO_OP the origin's buffer, count and datatype are ignored (MPI-4.1, section 12.3.4).
    const bool has_origin = seen.has(Role::send_buffer) && !is_by(seen, library().no_op);
    Payload payload = has_origin
                          ? view_payload(seen, Role::send_buffer, Role::send_count, Role::send_datatype)
                          : view_result(seen);
    layout::Event event = event_of(seen);
    describe(event, payload);
    if (!has_origin) event.kind &= static_cast<std::uint16_t>(~layout::send);
    if (seen.has(Role::operation)) event.tag = is_by(seen, library().replace) ? 1 : 0;
    const SpinGuard guard(shared_state, is_multiple);
    place(seen, event, window_of(seen));
    if (event.peer == layout::proc_null) event.bytes = 0;
    if (has_origin) take_shorter(seen, event, Role::target_datatype);
    if (seen.plan.lasting == Lasting::once) {
        event.request = next_serial();
        post_request(seen, event, payload);
    }
    keep_repeated(seen, event, payload, {});
    keep_event(seen, event, payload);
}

void end_epoch(Word window) {
    if (Window* const known = windows.find(library().handle(window) + 1)) ++known->epoch;
}

void observe_plain(const Seen& seen) {
    layout::Event event = event_of(seen);
    Payload payload;
    for (const auto [count, datatype] : {std::pair(Role::send_count, Role::send_datatype),
                                         std::pair(Role::receive_count, Role::receive_datatype)})
        if (seen.has(count) && seen.call.error == 0)
            payload = view_type(seen.count(count), seen.word(datatype));
    event.bytes = payload.bytes;
    if (seen.plan.packs) keep_repeated(seen, event, payload, {});
    if (!seen.plan.ends_epoch) return count_event(seen, event, payload, Timed::yes);
    const SpinGuard guard(shared_state, is_multiple);
    place(seen, event, window_of(seen));
    end_epoch(seen.word(Role::window));
    keep_event(seen, event, payload);
}

void observe_epoch(const Seen& seen) {
    layout::Event event = event_of(seen);
    if (seen.has(Role::group) && seen.call.error == 0)
        event.tag = seen.call.repeated != nullptr ? seen.call.repeated->event.tag
                                                  : size_of_group(seen.word(Role::group));
    else if (seen.has(Role::target) && seen.has(Role::other))  // MPI_Win_lock has its kind there
        event.tag = seen.integer(Role::other) == library().lock_exclusive ? 1 : 0;
    const SpinGuard guard(shared_state, is_multiple);
    place(seen, event, window_of(seen));
    const bool found = !seen.plan.is_test || seen.said(Role::flag) != 0;
    seen.lane.found_nothing = !found;
    if (!found)
        event.kind |= layout::found_nothing;
    else if (seen.plan.is_test)
        event.kind |= layout::wait;
    if (found && seen.plan.ends_epoch && seen.call.error == 0) end_epoch(seen.word(Role::window));
    keep_repeated(seen, event, {}, {});
    keep_event(seen, event, {});
}

void observe_window_made(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    event.communicator = row_of(seen);
    event.sequence = number_collective(event.communicator);
    if (seen.made(Role::new_window)) {
        const Word handle = library().handle_at(seen.pointer(Role::new_window), 0);
        if (Window* const window = windows.put(handle + 1)) {
            window->epoch = event.sequence << 16;  // no two of a communicator have one number soon
            window->communicator = event.communicator;
        }
    }
    keep_event(seen, event, {});
}

void observe_window_freed(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    Window* const window = seen.scratch == nullptr ? nullptr : windows.find(seen.scratch->handle + 1);
    event.sequence = layout::not_known;
    if (window != nullptr) {
        event.communicator = window->communicator;
        event.sequence = number_collective(window->communicator);
        if (seen.call.error == 0) windows.erase(window);
    }
    keep_event(seen, event, {});
}

void begin_windows() {
    windows.clear();
}

namespace {

/// Which arguments describe what is given.
struct Side {
    Role buffer, count, counts, datatype, datatypes;
};
constexpr Side given{Role::send_buffer, Role::send_count, Role::send_counts, Role::send_datatype,
                     Role::send_datatypes};
constexpr Side received{Role::receive_buffer, Role::receive_count, Role::receive_counts,
                        Role::receive_datatype, Role::receive_datatypes};

bool is_in_place(const Seen& seen) {
    return seen.has(Role::send_buffer) && seen.word(Role::send_buffer) == library().in_place;
}

Word buffer_of(const Seen& seen, const Side& side) {
    if (seen.has(side.buffer) && seen.word(side.buffer) != library().in_place) return seen.word(side.buffer);
    return seen.has(Role::receive_buffer) ? seen.word(Role::receive_buffer) : library().in_place;
}

Payload view(const Seen& seen, const Side& side, std::uint64_t count) {
    const Word datatype = seen.has(side.datatype) ? seen.word(side.datatype) : seen.word(Role::send_datatype);
    return view_payload(seen, reinterpret_cast<const void*>(buffer_of(seen, side)), count, datatype);
}

/// Of MPI_Gatherv in place a rank gives its own part of what is received.
std::uint64_t own_count(const Seen& seen, const Side& side, std::int32_t rank) {
    if (seen.has(side.count)) return seen.count(side.count);
    if (seen.has(side.counts) && rank >= 0) return seen.count_at(side.counts, static_cast<std::size_t>(rank));
    return 0;
}

/// Which neighbours there are: those of a Cartesian grid may be MPI_PROC_NULL at its edges, and nothing goes
/// to them. @param of Calls for each that is there, with its position in the arrays.
template <typename Of>
void for_each_neighbour(const CommunicatorState& state, Of of) {
    for (std::int32_t at = 0; at < state.neighbours_out; ++at)
        if (!state.lacks_neighbour(at)) of(static_cast<std::size_t>(at));
}

/// Sums up arrays by rank or by neighbour.
class Sum {
  public:
    Sum(const Seen& seen, const Side& side) : seen_(seen), side_(side) {}

    void add(std::size_t at) {
        const std::uint64_t count = seen_.count_at(side_.counts, at);
        if (count == 0) return;
        count_ += count;
        if (!seen_.has(side_.datatypes) || seen_.pointer(side_.datatypes) == nullptr) return;
        const Word datatype = library().handle_at(seen_.pointer(side_.datatypes), at);
        if (count_ == count) first_ = datatype;
        bytes_ += count * view_datatype(datatype).bytes;
    }
    Payload payload() const {
        if (!seen_.has(side_.datatypes)) return view(seen_, side_, count_);
        if (count_ == 0) return {};
        Payload payload =
            view_payload(seen_, reinterpret_cast<const void*>(buffer_of(seen_, side_)), 1, first_);
        payload.bytes = bytes_;
        return payload;
    }

  private:
    const Seen& seen_;
    const Side& side_;
    std::uint64_t count_ = 0, bytes_ = 0;
    Word first_ = 0;  ///< datatype of the first count that is not 0
};

Payload view_ranks(const Seen& seen, const Side& side, std::int32_t ranks) {
    Sum sum(seen, side);
    for (std::int32_t rank = 0; rank < ranks; ++rank) sum.add(static_cast<std::size_t>(rank));
    return sum.payload();
}

Payload view_neighbours(const Seen& seen, const CommunicatorState& state) {
    Sum sum(seen, given);
    for_each_neighbour(state, [&](std::size_t at) { sum.add(at); });
    return sum.payload();
}

std::uint64_t count_neighbours(const CommunicatorState& state) {
    std::uint64_t there = 0;
    for_each_neighbour(state, [&](std::size_t) { ++there; });
    return there;
}

/// What a rank is in a collective. Between two groups the root is who says MPI_ROOT, the others of its group
/// say MPI_PROC_NULL and take no part, and the rank of the root is one of the other group (MPI-4.1, section
/// 6.2.3).
enum class Part { member, root, leaf, nobody };

Part part_of(const Seen& seen, const layout::Communicator& communicator) {
    if (!seen.plan.is_rooted) return Part::member;
    const std::int32_t root = seen.integer(Role::root);
    if (communicator.is_inter == 0) return root == communicator.rank ? Part::root : Part::leaf;
    if (root == library().root) return Part::root;
    return root == library().proc_null ? Part::nobody : Part::leaf;
}

struct Given {
    Payload payload;
    bool is_received = false;  ///< this rank gives nothing: it is what arrives
    std::int32_t own_share =
        -1;  ///< thousandths of the bytes that go to this rank itself, by counts for each
};

/// Reads what is significant on this rank, and nothing else: an array may be shorter than the communicator,
/// and any other argument may be anything.
/// @param row Of the communicator, not layout::no_row.
Given view_given(const Seen& seen, std::uint16_t row) {
    const layout::Communicator& communicator = sections().communicators[row];
    const CommunicatorState& state = communicator_state(row);
    const Part part = part_of(seen, communicator);
    if (part == Part::nobody) return {};
    // A root in a group of its own gives nothing of what it gathers or reduces.
    const bool gathers =
        seen.plan.is_rooted && seen.has(Role::receive_buffer) && seen.plan.gives == Gives::count;
    if (gathers && part == Part::root && communicator.is_inter != 0) return {};
    // MPI_IN_PLACE means something to the root alone where there is one.
    const bool in_place = part != Part::leaf && communicator.is_inter == 0 && is_in_place(seen);
    const Side& side = in_place ? received : given;
    const auto ranks = static_cast<std::uint64_t>(state.targets);
    const auto own_ranks = static_cast<std::uint64_t>(communicator.size < 0 ? 0 : communicator.size);
    switch (seen.plan.gives) {
        case Gives::nothing:
            return {};
        case Gives::count: {
            const bool takes = part == Part::leaf && !seen.has(Role::receive_buffer);
            // Reductions have one count for both sides.
            const Side& counted =
                in_place && !seen.has(received.count) && !seen.has(received.counts) ? given : side;
            return {view(seen, counted, own_count(seen, counted, communicator.rank)), takes};
        }
        case Gives::count_for_each:
            return {view(seen, side, seen.count(side.count) * ranks)};
        case Gives::counts_for_each: {
            Given given_to_each{view_ranks(seen, side, state.targets)};
            if (communicator.is_inter != 0 || in_place || given_to_each.payload.bytes == 0)
                return given_to_each;
            Sum to_itself(seen, side);
            to_itself.add(static_cast<std::size_t>(communicator.rank));
            given_to_each.own_share =
                static_cast<std::int32_t>(to_itself.payload().bytes * 1000 / given_to_each.payload.bytes);
            return given_to_each;
        }
        case Gives::count_as_root:
        case Gives::counts_as_root:
            if (part != Part::root) return {view(seen, received, seen.count(Role::receive_count)), true};
            return {seen.has(given.counts) ? view_ranks(seen, given, state.targets)
                                           : view(seen, given, seen.count(Role::send_count) * ranks)};
        case Gives::received_count_for_each:
            return {view(seen, given, seen.count(Role::receive_count) * own_ranks)};
        case Gives::received_counts: {
            std::uint64_t sum = 0;
            for (std::size_t rank = 0; rank < own_ranks; ++rank)
                sum += seen.count_at(Role::receive_counts, rank);
            return {view(seen, given, sum)};
        }
        case Gives::neighbours:
            return {view(seen, given, seen.count(Role::send_count) * count_neighbours(state))};
        case Gives::neighbours_counts:
            return {view_neighbours(seen, state)};
    }
    return {};
}

/// The world rank of the root.
std::int32_t root_of(const Seen& seen, std::uint16_t row) {
    const std::int32_t root = seen.integer(Role::root);
    return root == library().root ? world_group_rank() : world_rank_of(row, root);
}

}  // namespace

void observe_collective(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    const std::uint16_t row = row_of(seen);
    const Given what = row == layout::no_row || seen.call.error != 0 ? Given{} : view_given(seen, row);
    describe(event, what.payload);
    if (!seen.plan.is_rooted) take_shorter(seen, event, received.datatype);
    if (what.is_received) event.kind |= layout::receive;
    event.communicator = row;
    event.sequence = number_collective(row);
    event.tag = what.own_share;
    if (seen.plan.is_rooted) event.peer = root_of(seen, row);
    if (seen.plan.lasting != Lasting::no) {
        if (seen.plan.lasting == Lasting::once) event.request = next_serial();
        post_request(seen, event, what.payload);
    }
    if (seen.plan.lasting > Lasting::once) return keep_preparation(seen, event, what.payload);
    keep_repeated(seen, event, what.payload, {});
    keep_event(seen, event, what.payload);
}

}  // namespace slowpath::watch
