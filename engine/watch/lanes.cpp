// SPDX-License-Identifier: Apache-2.0
#include "watch/lanes.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>

#include "watch/clock.hpp"
#include "watch/communicators.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/repeated.hpp"
#include "watch/sites.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {

constinit std::uint32_t recording = 0;
constinit bool is_multiple = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit Lane* own_lane = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local constinit std::uint32_t own_lane_since = 0;

namespace {

constinit Lane lanes[most_room_lanes]{};
constinit std::uint32_t opened = 0;
constinit SpinLock opening{};

void open_lane(Lane& lane, std::uint32_t number) {
    const LaneRoom room = take_lane_room(number);
    lane.number = number;
    lane.is_shared = number + 1 == most_lanes();
    lane.profile = room.profile;
    lane.events = room.events;
    lane.runs = map_rows<WindowRun>(room.events.capacity() + 1);
    lane.keeps_window = lane.runs != nullptr;
    lane.row = sections().lanes.next();
    lane.row->thread = static_cast<std::int32_t>(syscall(SYS_gettid));
    sections().lanes.publish();
    layout::Current* const current = sections().current.next();
    if (current == nullptr) return;
    current->ticks_per_s = static_cast<std::uint64_t>(1e9 / ns_per_tick);
    current->communicator = layout::no_row;
    sections().current.publish();
    lane.current = lane.is_shared ? nullptr : current;
}

void forget(Lane& lane) {
    unmap_rows(lane.runs, lane.events.capacity() + 1);
    for (SiteSlot& slot : lane.sites) slot = {};
    for (CountedPlace& place : lane.places) place = {};
    for (Repeated& call : lane.repeated) call = {};
    for (std::uint32_t& row : lane.profile_index) row = 0;
    lane.run_count = 0;
    lane.window_end_ticks = lane.unwound = 0;
    lane.window_begin_ticks = lane.window_begin_calls = 0;
    lane.is_busy = lane.has_thinned = false;
    lane.untimed_polls = 0;
    for (OwnCost& own : lane.own_cost) own = {};
}

}  // namespace

[[gnu::noinline]] Lane& take_lane() {
    const SpinGuard guard(opening);
    const std::uint32_t last = most_lanes() - 1;
    const std::uint32_t number = opened < last ? opened : last;
    if (opened <= last) {
        open_lane(lanes[number], number);
        ++opened;
    }
    own_lane = &lanes[number];
    own_lane_since = recording;
    return *own_lane;
}

void begin_lanes() {
    for (std::uint32_t lane = 0; lane < opened; ++lane) forget(lanes[lane]);
    opened = 0;
}

void end_lanes() {
    for (std::uint32_t lane = 0; lane < opened; ++lane) settle_lane(lanes[lane]);
}

void add_own_ticks(std::uint64_t ticks) {
    if (opened != 0) lanes[0].row->own_ticks += ticks;
}

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit Scratch own{};

/// A Waitall of more than these keeps nothing: its requests' ends are not seen.
constexpr std::size_t most_requests = 1 << 20;

Word* argument(Observed& call, const Plan& plan, Role role) {
    const int at = plan.at[static_cast<std::size_t>(role)];
    return at < 0 ? nullptr : &call.arguments[at];
}

/// Room of the only thread that calls MPI is kept for the next call: to map it and to touch its pages takes
/// as long as a hundred messages.
constexpr std::size_t most_kept_bytes = 8 << 20;

void give_back() {
    if (own.mapped != nullptr) munmap(own.mapped, own.mapped_bytes);
    own.mapped = nullptr;
    own.mapped_bytes = 0;
}

/// Room for handles and statuses; false: there is none.
bool take_room(std::size_t count, Word*& handles, char*& statuses) {
    handles = own.inline_handles;
    statuses = own.inline_statuses;
    if (count <= Scratch::inline_requests) return true;
    if (count > most_requests) return false;
    const std::size_t bytes = std::bit_ceil(count * (sizeof(Word) + library().status_bytes));  // lists grow
    if (own.mapped_bytes < bytes) {
        give_back();
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        own.mapped = memory;
        own.mapped_bytes = bytes;
    }
    handles = static_cast<Word*>(own.mapped);
    statuses = static_cast<char*>(own.mapped) + count * sizeof(Word);
    return true;
}

Scratch* keep_requests(Observed& call, const Plan& plan) {
    const Word* const one = argument(call, plan, Role::request);
    const Word* const many = argument(call, plan, Role::requests);
    const Word* const length = argument(call, plan, Role::request_count);
    const int given = length == nullptr ? 1 : static_cast<int>(*length);
    const auto* const array = reinterpret_cast<const void*>(many != nullptr  ? *many
                                                            : one != nullptr ? *one
                                                                             : 0);
    Word* handles = nullptr;
    char* statuses = nullptr;
    if (array == nullptr || given <= 0 || !take_room(static_cast<std::size_t>(given), handles, statuses))
        return nullptr;
    const auto count = static_cast<std::size_t>(given);
    for (std::size_t at = 0; at < count; ++at) handles[at] = library().handle_at(array, at);
    own.request_count = count;
    own.handles = handles;
    own.statuses = nullptr;
    if (Word* const status = argument(call, plan, Role::status);
        status != nullptr && *status == library().status_ignore)
        *status = reinterpret_cast<Word>(own.statuses = statuses);
    if (Word* const array_of = argument(call, plan, Role::statuses);
        array_of != nullptr && *array_of == library().statuses_ignore)
        *array_of = reinterpret_cast<Word>(own.statuses = statuses);
    return &own;
}

Scratch* keep_status(Observed& call, const Plan& plan) {
    own.statuses = nullptr;
    Word* const status = argument(call, plan, Role::status);
    if (status != nullptr && *status == library().status_ignore)
        *status = reinterpret_cast<Word>(own.statuses = own.inline_statuses);
    own.handle = 0;
    if (const Word* const message = argument(call, plan, Role::message); message != nullptr && *message != 0)
        own.handle = library().handle_at(reinterpret_cast<const void*>(*message), 0);
    return &own;
}

Scratch* keep_handle(Observed& call, const Plan& plan, Role role) {
    const Word* const place = argument(call, plan, role);
    if (place == nullptr || *place == 0) return nullptr;
    own.handle = library().handle_at(reinterpret_cast<const void*>(*place), 0);
    return &own;
}

Scratch* keep_session(const Observed& call) {
    if (call.arguments[0] == 0) return nullptr;
    own.handle = library().handle_at(reinterpret_cast<const void*>(call.arguments[0]), 0);
    return &own;
}

}  // namespace

Scratch* prepare(Observed& call, const Plan& plan) {
    switch (plan.action) {
        case Action::complete:
        case Action::start:
        case Action::free_request:
        case Action::cancel:
            return keep_requests(call, plan);
        case Action::receive:
        case Action::matched_receive:
        case Action::exchange:
        case Action::probe:
            return keep_status(call, plan);
        case Action::free_communicator:
            return keep_handle(call, plan, Role::new_communicator);
        case Action::free_window:
            return keep_handle(call, plan, Role::new_window);
        case Action::free_datatype:
            return keep_handle(call, plan, Role::new_datatype);
        case Action::end_session:
            return keep_session(call);
        default:
            return nullptr;
    }
}

void release(Scratch& scratch) {
    if (scratch.mapped == nullptr || (!is_multiple && scratch.mapped_bytes <= most_kept_bytes)) return;
    give_back();
}

namespace {

/// World rank of a partner; layout::none: the call has none of this role.
std::int32_t partner(const Observed& call, const Plan& plan, Role role, std::uint16_t communicator) {
    if (!plan.has(role)) return layout::none;
    return world_rank_of(communicator, static_cast<std::int32_t>(plan.of(call.arguments, role)));
}

void show_communicator(layout::Current& current, const Observed& call, const Plan& plan) {
    const std::uint16_t row = plan.has(Role::communicator) && plan.action != Action::matched_receive
                                  ? known_communicator_row(plan.of(call.arguments, Role::communicator))
                                  : layout::no_row;
    current.communicator = row;
    if (row == layout::no_row) return;
    if (plan.action == Action::collective) {
        current.sequence = communicator_state(row).collectives;
        current.peer = plan.is_rooted ? partner(call, plan, Role::root, row) : std::int32_t{layout::none};
        current.source = layout::none;
        return;
    }
    current.peer = partner(call, plan, Role::destination, row);
    current.source = partner(call, plan, Role::source, row);
    const Role tag = plan.has(Role::send_tag) ? Role::send_tag : Role::receive_tag;
    current.tag = plan.has(tag) ? static_cast<std::int32_t>(plan.of(call.arguments, tag)) : 0;
    if (plan.has(Role::source) && current.tag == library().any_tag) current.tag = layout::any;
}

void show_requests(layout::Current& current, const Observed& call, const Plan& plan, const Scratch* scratch) {
    const std::size_t count = scratch == nullptr ? 0 : scratch->request_count;
    current.communicator = layout::no_row;
    current.peer = current.source = layout::none;
    current.requests = static_cast<std::uint32_t>(count);
    current.request = 0;
    if (count != 1) return;
    const Role role = plan.has(Role::requests) ? Role::requests : Role::request;
    const Pending* const pending =
        find_request(scratch->handles[0], reinterpret_cast<const void*>(plan.of(call.arguments, role)));
    if (pending != nullptr) current.request = pending->event.request;
}

}  // namespace

void show(Lane& lane, Observed& call, const Plan& plan, const Scratch* scratch) {
    if (lane.current == nullptr) return;
    layout::Current& current = *lane.current;
    SiteSlot& slot = call.slot != nullptr ? *call.slot : find_site(lane, call);
    call.slot = &slot;
    const bool goes_on = plan.is_test && current.doing == layout::polling;
    if (goes_on && current.call == call.call && current.site == slot.site) return;
    current.call = call.call;
    current.site = slot.site;
    if (call.repeated != nullptr && !is_any(call.repeated->stream)) {
        const layout::Event& event = call.repeated->event;
        const bool is_receive = call.repeated->stream.is_receive;
        current.communicator = event.communicator;
        current.peer = is_receive ? std::int32_t{layout::none} : event.peer;
        current.source = is_receive ? event.peer : std::int32_t{layout::none};
        if (plan.action == Action::exchange) current.source = call.repeated->arrival.peer;
        current.tag = event.tag;
        if (plan.action == Action::collective)  // one that is thinned has its number already
            current.sequence =
                communicator_state(event.communicator).collectives - (call.is_thinned ? 1U : 0U);
    } else {
        const SpinGuard guard(shared_state, is_multiple);
        if (plan.action == Action::complete)
            show_requests(current, call, plan, scratch);
        else
            show_communicator(current, call, plan);
    }
    if (goes_on) return;
    call.current = &current;
    std::atomic_ref(current.doing).store(layout::in_call, std::memory_order_release);
}

}  // namespace slowpath::watch
