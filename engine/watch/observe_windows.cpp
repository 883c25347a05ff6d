// SPDX-License-Identifier: Apache-2.0
/// One-sided communication: transfers, and the epochs of their windows.
#include "watch/communicators.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

struct Window {
    std::uint64_t key;  ///< 1 + handle
    std::uint32_t epoch;
    std::uint16_t communicator;
};
constinit Table<Window, 64, 65536> windows{};

Window* window_of(const Seen& seen) {
    return windows.find(library().handle(seen.word(Role::window)) + 1);
}

/// Window, peer and epoch.
void place(const Seen& seen, layout::Event& event, const Window* window) {
    event.sequence = layout::not_known;
    if (window == nullptr) return;
    event.communicator = window->communicator;
    event.sequence = window->epoch;
    if (seen.has(Role::target)) event.peer = world_rank_of(window->communicator, seen.integer(Role::target));
}

/// With MPI_NO_OP the origin's buffer, count and datatype are ignored (MPI-4.1, section 12.3.4).
bool has_origin(const Seen& seen) {
    return seen.has(Role::send_buffer) &&
           !(seen.has(Role::operation) &&
             library().handle(seen.word(Role::operation)) == library().handle(library().no_op));
}

/// Where the target's data goes. MPI_Fetch_and_op has one datatype for both sides.
Payload view_result(const Seen& seen) {
    const Role datatype = seen.has(Role::receive_datatype) ? Role::receive_datatype : Role::send_datatype;
    return view_payload(seen, Role::receive_buffer, Role::receive_count, datatype);
}

}  // namespace

void observe_transfer(const Seen& seen) {
    Payload payload = has_origin(seen)
                          ? view_payload(seen, Role::send_buffer, Role::send_count, Role::send_datatype)
                          : view_result(seen);
    layout::Event event = event_of(seen);
    describe(event, payload);
    const SpinGuard guard(shared_state, is_multiple);
    place(seen, event, window_of(seen));
    if (event.peer == layout::proc_null) event.bytes = 0;
    if (seen.plan.lasting == Lasting::once) {
        event.request = next_serial();
        post_request(seen, event, payload);
    }
    keep_event(seen, event, payload);
}

void observe_epoch(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    Window* const window = window_of(seen);
    place(seen, event, window);
    const bool found = !seen.plan.is_test || seen.said(Role::flag) != 0;
    seen.lane.found_nothing = !found;
    if (!found)
        event.kind |= layout::found_nothing;
    else if (seen.plan.is_test)
        event.kind |= layout::wait;
    if (window != nullptr && found && seen.plan.ends_epoch && seen.call.error == 0) ++window->epoch;
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
            window->epoch = 0;
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

}  // namespace slowpath::watch
