// SPDX-License-Identifier: Apache-2.0
/// Before and after each call: the recorder's two entries.
#include "watch/observe.hpp"

#include <atomic>

#include "watch/current.hpp"
#include "watch/datatypes.hpp"
#include "watch/groups.hpp"
#include "watch/library.hpp"
#include "watch/repeated.hpp"
#include "watch/sites.hpp"

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
        case Action::begin:
        case Action::end_session:
            break;
    }
    count_event(seen, event_of(seen), {}, Timed::yes);
}

void count_call(Lane& lane, const Observed& call) {
    layout::Lane& row = *lane.row;
    if (row.calls == 0) row.first_ticks = call.start_ticks;
    ++row.calls;
    if (!call.is_untimed) {
        const std::uint64_t stands_for = call.repeated != nullptr ? call.repeated->untimed + 1U : 1U;
        row.call_ticks += (call.end_ticks - call.start_ticks) * stands_for;
        row.last_ticks = call.end_ticks;
    }
    std::uint64_t& calls = sections().calls[call.call].calls;
    if (is_multiple)
        std::atomic_ref(calls).fetch_add(1, std::memory_order_relaxed);
    else
        ++calls;
}

[[gnu::noinline]] void after_repeated(Lane& lane, const Observed& call) {
    const Plan& plan = plans[call.call];
    count_call(lane, call);
    lane.found_nothing = false;
    observe_repeated(call, plan, lane);
    if (plan.is_shown) hide(lane);
    // A status that is kept has no memory of its own to be released.
}

}  // namespace

Scratch* before(Observed& call) {
    if (recording == 0) [[unlikely]]
        return nullptr;
    const Plan& plan = plans[call.call];
    Scratch* const scratch = plan.keeps ? prepare(call, plan) : nullptr;
    if (plan.repeats && !is_multiple) {
        find_repeated(current_lane(), call);
        if (plan.lasting == Lasting::once && call.repeated != nullptr) leave_untimed(current_lane(), call);
    }
    if (plan.is_shown) show(current_lane(), call, plan, scratch);
    if (plan.action == Action::end_session && scratch != nullptr) session_ends(scratch->handle);
    return scratch;
}

void after(Observed& call, Scratch* scratch) {
    if (recording == 0) [[unlikely]]
        return;
    Lane& lane = current_lane();
    if (call.repeated != nullptr && call.error == 0) return after_repeated(lane, call);
    {
        const SpinGuard guard(lane.lock, lane.is_shared);
        count_call(lane, call);
        const Plan& plan = plans[call.call];
        lane.found_nothing = false;
        observe({call, plan, lane, scratch, call.slot != nullptr ? *call.slot : find_site(lane, call)});
        if (plan.is_shown) hide(lane);
        if (plan.action == Action::begin) note_start(call);
        if (plan.action == Action::end_session && call.error == 0) note_session_end();
        if (plan.action == Action::end_session && call.error != 0 && scratch != nullptr)
            session_begun(scratch->handle);
    }
    if (scratch != nullptr) release(*scratch);
}

}  // namespace slowpath::watch
