// SPDX-License-Identifier: Apache-2.0
#include "watch/current.hpp"

#include <atomic>

#include "watch/communicators.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/sites.hpp"

namespace slowpath::watch {
namespace {

Word argument(const Observed& call, const Plan& plan, Role role) {
    return call.arguments[plan.at[static_cast<std::size_t>(role)]];
}

/// World rank of a partner; layout::none: the call has none of this role.
std::int32_t partner(const Observed& call, const Plan& plan, Role role, std::uint16_t communicator) {
    if (!plan.has(role)) return layout::none;
    return world_rank_of(communicator, static_cast<std::int32_t>(argument(call, plan, role)));
}

void show_communicator(layout::Current& current, const Observed& call, const Plan& plan) {
    const std::uint16_t row = plan.has(Role::communicator) && plan.action != Action::matched_receive
                                  ? known_communicator_row(argument(call, plan, Role::communicator))
                                  : layout::no_row;
    current.communicator = row;
    if (row == layout::no_row) return;
    if (plan.action == Action::collective) {
        current.sequence = communicator_state(row).collectives;
        current.collective_communicator = row;
        current.collective_sequence = current.sequence;
        current.peer = plan.is_rooted ? partner(call, plan, Role::root, row) : std::int32_t{layout::none};
        current.source = layout::none;
        return;
    }
    current.peer = partner(call, plan, Role::destination, row);
    current.source = partner(call, plan, Role::source, row);
    const Role tag = plan.has(Role::send_tag) ? Role::send_tag : Role::receive_tag;
    current.tag = plan.has(tag) ? static_cast<std::int32_t>(argument(call, plan, tag)) : 0;
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
        find_request(scratch->handles[0], reinterpret_cast<const void*>(argument(call, plan, role)));
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
    if (call.repeated != nullptr) {
        const layout::Event& event = call.repeated->event;
        const bool is_receive = call.repeated->stream.is_receive;
        current.communicator = event.communicator;
        current.peer = is_receive ? std::int32_t{layout::none} : event.peer;
        current.source = is_receive ? event.peer : std::int32_t{layout::none};
        current.tag = event.tag;
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
