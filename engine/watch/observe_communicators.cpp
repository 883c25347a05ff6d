// SPDX-License-Identifier: Apache-2.0
#include "watch/communicators.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"

namespace slowpath::watch {

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

}  // namespace slowpath::watch
