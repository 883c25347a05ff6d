// SPDX-License-Identifier: Apache-2.0
#include "watch/plan.hpp"

#include <string_view>

#include "watch/communicators.hpp"
#include "watch/datatypes.hpp"
#include "watch/events.hpp"
#include "watch/layout.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"

namespace slowpath::watch {

constinit Plan plans[call_count]{};

namespace {

using namespace layout;

struct Named {
    std::string_view name;
    Action action;
    unsigned kind = 0;
    Completes completes = Completes::one;
};

/// Without MPI_ and _c. A collective is told by its family.
constexpr Named named[] = {
    {"Send", Action::send, send},
    {"Bsend", Action::send, send | buffered},
    {"Ssend", Action::send, send | synchronous},
    {"Rsend", Action::send, send | ready},
    {"Isend", Action::send, send | post},
    {"Ibsend", Action::send, send | post | buffered},
    {"Issend", Action::send, send | post | synchronous},
    {"Irsend", Action::send, send | post | ready},
    {"Send_init", Action::send, send | persistent},
    {"Bsend_init", Action::send, send | persistent | buffered},
    {"Ssend_init", Action::send, send | persistent | synchronous},
    {"Rsend_init", Action::send, send | persistent | ready},
    {"Psend_init", Action::send, send | persistent},
    {"Recv", Action::receive, receive},
    {"Irecv", Action::receive, receive | post},
    {"Recv_init", Action::receive, receive | persistent},
    {"Precv_init", Action::receive, receive | persistent},
    {"Mrecv", Action::matched_receive, receive},
    {"Imrecv", Action::matched_receive, receive | post},
    {"Sendrecv", Action::exchange, send},
    {"Sendrecv_replace", Action::exchange, send},
    {"Isendrecv", Action::exchange, send | post},
    {"Isendrecv_replace", Action::exchange, send | post},
    {"Start", Action::start, post | persistent},
    {"Startall", Action::start, post | persistent},
    {"Wait", Action::complete, wait},
    {"Waitall", Action::complete, wait, Completes::all},
    {"Waitany", Action::complete, wait, Completes::any},
    {"Waitsome", Action::complete, wait, Completes::some},
    {"Test", Action::complete, wait},
    {"Testall", Action::complete, wait, Completes::all},
    {"Testany", Action::complete, wait, Completes::any},
    {"Testsome", Action::complete, wait, Completes::some},
    {"Cancel", Action::cancel},
    {"Request_free", Action::free_request},
    {"Probe", Action::probe, wait},
    {"Iprobe", Action::probe, 0},
    {"Mprobe", Action::probe, wait},
    {"Improbe", Action::probe, 0},
    {"Put", Action::transfer, one_sided | send},
    {"Rput", Action::transfer, one_sided | send | post},
    {"Get", Action::transfer, one_sided | receive},
    {"Rget", Action::transfer, one_sided | receive | post},
    {"Accumulate", Action::transfer, one_sided | send},
    {"Raccumulate", Action::transfer, one_sided | send | post},
    {"Get_accumulate", Action::transfer, one_sided | send | receive},
    {"Rget_accumulate", Action::transfer, one_sided | send | receive | post},
    {"Fetch_and_op", Action::transfer, one_sided | send | receive},
    {"Compare_and_swap", Action::transfer, one_sided | send | receive},
    {"Win_fence", Action::epoch, one_sided | wait},
    {"Win_start", Action::epoch, one_sided},
    {"Win_complete", Action::epoch, one_sided | wait},
    {"Win_post", Action::epoch, one_sided},
    {"Win_wait", Action::epoch, one_sided | wait},
    {"Win_test", Action::epoch, one_sided},
    {"Win_lock", Action::epoch, one_sided},
    {"Win_lock_all", Action::epoch, one_sided},
    {"Win_unlock", Action::epoch, one_sided | wait},
    {"Win_unlock_all", Action::epoch, one_sided | wait},
    {"Win_flush", Action::epoch, one_sided | wait},
    {"Win_flush_all", Action::epoch, one_sided | wait},
    {"Win_flush_local", Action::epoch, one_sided | wait},
    {"Win_flush_local_all", Action::epoch, one_sided | wait},
    {"Win_sync", Action::epoch, one_sided},
    {"Win_create", Action::make_window, one_sided | collective},
    {"Win_create_dynamic", Action::make_window, one_sided | collective},
    {"Win_allocate", Action::make_window, one_sided | collective},
    {"Win_allocate_shared", Action::make_window, one_sided | collective},
    {"Win_free", Action::free_window, one_sided | collective},
    {"File_open", Action::make_window, collective},
    {"File_close", Action::free_window, collective},
    {"Comm_dup", Action::make_communicator, collective},
    {"Comm_dup_with_info", Action::make_communicator, collective},
    {"Comm_idup", Action::make_communicator, collective | post},
    {"Comm_idup_with_info", Action::make_communicator, collective | post},
    {"Comm_split", Action::make_communicator, collective},
    {"Comm_split_type", Action::make_communicator, collective},
    {"Comm_create", Action::make_communicator, collective},
    {"Comm_create_group", Action::make_communicator},
    {"Comm_create_from_group", Action::make_communicator},
    {"Intercomm_create", Action::make_communicator, collective},
    {"Intercomm_create_from_groups", Action::make_communicator},
    {"Intercomm_merge", Action::make_communicator, collective},
    {"Cart_create", Action::make_communicator, collective},
    {"Cart_sub", Action::make_communicator, collective},
    {"Graph_create", Action::make_communicator, collective},
    {"Dist_graph_create", Action::make_communicator, collective},
    {"Dist_graph_create_adjacent", Action::make_communicator, collective},
    {"Comm_spawn", Action::make_communicator, collective},
    {"Comm_spawn_multiple", Action::make_communicator, collective},
    {"Comm_accept", Action::make_communicator, collective},
    {"Comm_connect", Action::make_communicator, collective},
    {"Comm_join", Action::make_communicator},
    {"Comm_get_parent", Action::make_communicator},
    {"Comm_free", Action::free_communicator},
    {"Comm_disconnect", Action::free_communicator},
    {"Comm_set_name", Action::name_communicator},
    {"Type_free", Action::free_datatype},
    {"Init", Action::begin},
    {"Init_thread", Action::begin},
    {"Session_init", Action::begin},
    {"Session_finalize", Action::end_session},
};

struct Volume {
    std::string_view name;
    Gives gives;
};

/// Without MPI_, I, _init and _c; capital.
constexpr Volume volumes[] = {
    {"Barrier", Gives::nothing},
    {"Scatter", Gives::count_as_root},
    {"Scatterv", Gives::counts_as_root},
    {"Alltoall", Gives::count_for_each},
    {"Alltoallv", Gives::counts_for_each},
    {"Alltoallw", Gives::counts_for_each},
    {"Reduce_scatter", Gives::received_counts},
    {"Reduce_scatter_block", Gives::received_count_for_each},
    {"Neighbor_alltoall", Gives::neighbours},
    {"Neighbor_alltoallv", Gives::neighbours_counts},
    {"Neighbor_alltoallw", Gives::neighbours_counts},
};

std::string_view without(std::string_view name, std::string_view prefix, std::string_view suffix) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return name;
}

Gives gives_of(std::string_view name) {
    name = without(name, "", "_init");
    const std::string_view after_i = without(name, "I", "");
    for (const Volume& volume : volumes)
        if (after_i.substr(1) == volume.name.substr(1)) return volume.gives;  // Ibarrier has a small letter
    return Gives::count;
}

Lasting lasting_of(const Plan& plan, std::string_view name) {
    if (!plan.has(Role::request) || plan.action == Action::complete || plan.action == Action::start)
        return Lasting::no;
    if (name == "Psend_init" || name == "Precv_init") return Lasting::partitioned;
    return name.ends_with("_init") ? Lasting::persistent : Lasting::once;
}

void plan_collective(Plan& plan, std::string_view name) {
    if (!plan.has(Role::communicator)) return;  // MPI_Reduce_local
    plan.action = Action::collective;
    plan.gives = gives_of(name);
    plan.is_rooted = plan.has(Role::root);
    plan.kind = layout::collective;
}

bool is_end_of_epoch(std::string_view name) {
    if (name.starts_with("File_") && !name.starts_with("File_i"))
        for (const std::string_view joint : {"_all", "_ordered", "_view", "set_size", "_sync", "preallocate"})
            if (name.ends_with(joint) && name != "File_get_view") return true;
    return name == "Win_fence" || name == "Win_complete" || name == "Win_wait" || name == "Win_test" ||
           name.starts_with("Win_unlock");
}

bool keeps_something(Action action) {
    return (action >= Action::receive && action <= Action::probe) || action == Action::free_communicator ||
           action == Action::free_window || action == Action::free_datatype || action == Action::end_session;
}

/// Calls that return at once are not shown: a thread that hangs is in none of them. MPI_Abort never returns.
bool can_block(const Plan& plan, Family family, std::string_view name) {
    switch (plan.action) {
        case Action::send:
        case Action::receive:
        case Action::matched_receive:
        case Action::exchange:
        case Action::collective:
        case Action::make_communicator:
            return plan.lasting == Lasting::no;
        case Action::complete:
        case Action::probe:
        case Action::epoch:
        case Action::make_window:
        case Action::free_window:
        case Action::free_communicator:
            return true;
        default:
            return family == Family::files || name == "Abort";
    }
}

/// What arrays say may be another thing in each call.
bool reads_arrays(const Plan& plan) {
    return plan.gives == Gives::counts_for_each || plan.gives == Gives::counts_as_root ||
           plan.gives == Gives::received_counts || plan.gives == Gives::neighbours_counts;
}

bool can_repeat(const Plan& plan) {
    switch (plan.action) {
        case Action::exchange:
            return plan.lasting == Lasting::no;
        case Action::collective:
            return plan.lasting <= Lasting::once && !reads_arrays(plan);
        case Action::send:
        case Action::receive:
        case Action::probe:
        case Action::transfer:
        case Action::epoch:
            return plan.lasting <= Lasting::once && !plan.is_test && !plan.has(Role::message);
        default:
            return plan.packs;
    }
}

void note_fixed(Plan& plan, const Shape& shape) {
    for (std::uint8_t argument = 0; argument < shape.arguments; ++argument) {
        switch (shape.roles[argument]) {
            case Role::send_buffer:
            case Role::receive_buffer:
            case Role::target_offset:
            case Role::request:
            case Role::status:
                break;
            case Role::other:  // MPI_Compare_and_swap has an address there, epochs an int
                if (plan.action == Action::transfer) break;
                [[fallthrough]];
            default:
                plan.fixed[plan.fixed_count++] = argument;
        }
    }
}

Plan make_plan(const Shape& shape) {
    Plan plan;
    for (std::int8_t& at : plan.at) at = -1;
    for (int argument = shape.arguments - 1; argument >= 0; --argument)
        plan.at[static_cast<std::size_t>(shape.roles[argument])] = static_cast<std::int8_t>(argument);
    plan.is_large = shape.is_large;
    const std::string_view name = without(shape.name, "MPI_", "_c");
    plan.is_test = name.starts_with("Test") || name == "Iprobe" || name == "Improbe" || name == "Win_test";
    plan.ends_epoch = is_end_of_epoch(name);
    if (shape.family == Family::collective) plan_collective(plan, name);
    for (const Named& one : named) {
        if (one.name != name) continue;
        plan.action = one.action;
        plan.kind = static_cast<std::uint16_t>(one.kind);
        plan.completes = one.completes;
    }
    plan.lasting = lasting_of(plan, name);
    plan.keeps =
        keeps_something(plan.action) && !(plan.action == Action::receive && plan.lasting != Lasting::no);
    plan.packs = plan.action == Action::plain && shape.family == Family::datatypes &&
                 (plan.has(Role::send_count) || plan.has(Role::receive_count));
    if (can_repeat(plan)) note_fixed(plan, shape);
    // A reduction at the target takes a lock in most libraries.
    plan.returns_at_once = plan.action == Action::transfer
                               ? plan.has(Role::target_count) && !plan.has(Role::operation)
                               : plan.lasting == Lasting::once || plan.packs;
    plan.is_shown = can_block(plan, shape.family, name);
    // Neither a transfer, which has its bytes, nor what may wait for somebody as the end of a buffer does.
    plan.is_sampled = plan.action == Action::plain && !plan.is_shown && !plan.has(Role::send_count) &&
                      !plan.has(Role::receive_count) && shape.family != Family::point_to_point &&
                      shape.family != Family::start_and_end && shape.family != Family::local;
    if (plan.action == Action::collective && plan.lasting == Lasting::once) plan.kind |= layout::post;
    if (plan.lasting >= Lasting::persistent) plan.kind |= layout::persistent;
    return plan;
}

}  // namespace

void make_plans() {
    for (std::size_t call = 0; call < call_count; ++call) plans[call] = make_plan(shapes[call]);
}

std::uint64_t Seen::count_at(Role role, std::size_t index) const {
    if (pointer(role) == nullptr) return 0;
    const std::int64_t given = plan.is_large ? static_cast<const std::int64_t*>(pointer(role))[index]
                                             : static_cast<const std::int32_t*>(pointer(role))[index];
    return given < 0 ? 0 : static_cast<std::uint64_t>(given);
}

Payload view_type(std::uint64_t count, Word datatype) {
    Payload payload;
    // Nobody need look at the datatype of nothing.
    const DatatypeView type = count == 0 ? DatatypeView{} : view_datatype(datatype);
    payload.bytes = count * type.bytes;
    payload.datatype = type.row;
    payload.has_gaps = type.has_gaps;
    return payload;
}

Payload view_payload(const Seen& seen, const void* address, std::uint64_t count, Word datatype) {
    constexpr std::uint16_t no_buffer = 1 << 10;
    if (seen.call.error != 0) return {};
    Payload payload = view_type(count, datatype);
    const auto start = reinterpret_cast<Word>(address);
    payload.start_offset = start_offset_of(start);
    if (start == library().in_place || start == library().bottom)
        payload.buffer.buffer_class = no_buffer;
    else
        payload.address = address, payload.buffer = view_buffer(address, payload.bytes);
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
    const auto flags = static_cast<std::uint8_t>((payload.buffer.is_first ? first_use : 0) |
                                                 ((event.kind & layout::receive) != 0 ? receive_side : 0) |
                                                 (payload.has_gaps ? has_gaps : 0));
    const ProfileKey key{event.site,
                         event.call,
                         size_class(event.bytes),
                         flags,
                         event.peer,
                         payload.buffer.buffer_class,
                         event.communicator};
    const bool is_first = timed == Timed::yes;
    layout::Profile* const row =
        count(seen.lane, key, {event.bytes, is_first ? seen.ticks() : 0, payload.buffer.allocation_bytes},
              is_first ? &seen.slot.profile : &seen.slot.second);
    // What arrived instead, or lies at places of its own for each rank, is no content that was given.
    const bool is_looked_at = event.bytes >= least_content_bytes || seen.plan.action == Action::collective;
    if (row != nullptr && is_looked_at && event.bytes > 0 && payload.address != nullptr &&
        (flags & (receive_side | has_gaps)) == 0 && !seen.has(Role::send_counts) &&
        (seen.plan.action != Action::exchange || seen.has(Role::receive_buffer)))
        look_into(seen.lane, *row, payload.address, event.bytes);
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
    pending->repeated = is_multiple ? nullptr : seen.call.repeated;
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
