// SPDX-License-Identifier: Apache-2.0
/// Collectives: what this rank gives, and which one on its communicator it is.
#include "watch/communicators.hpp"
#include "watch/datatypes.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"

namespace slowpath::watch {
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

std::uint64_t sum_of(const Seen& seen, Role counts, std::size_t length) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < length; ++at) sum += seen.count_at(counts, at);
    return sum;
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

Payload view_by_types(const Seen& seen, const Side& side, std::size_t length) {
    Payload payload;
    if (length == 0) return payload;
    const void* const types = seen.pointer(side.datatypes);
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < length; ++at)
        if (const std::uint64_t count = seen.count_at(side.counts, at); count != 0)
            bytes += count * view_datatype(library().handle_at(types, at)).bytes;
    payload = view_payload(seen, reinterpret_cast<const void*>(buffer_of(seen, side)), 0,
                           library().handle_at(types, 0));
    payload.bytes = bytes;
    return payload;
}

struct Given {
    Payload payload;
    bool is_received = false;  ///< this rank gives nothing: it is what arrives
};

/// @param row Of the communicator, not layout::no_row.
Given view_given(const Seen& seen, std::uint16_t row) {
    const bool in_place = is_in_place(seen);
    const Side& side = in_place ? received : given;
    const layout::Communicator& communicator = sections().communicators[row];
    const auto size = static_cast<std::size_t>(communicator_size(row));
    const auto neighbours = static_cast<std::size_t>(communicator_state(row).neighbours_out);
    const bool is_root = seen.plan.is_rooted && (seen.integer(Role::root) == communicator.rank ||
                                                 seen.integer(Role::root) == library().root);
    switch (seen.plan.gives) {
        case Gives::nothing:
            return {};
        case Gives::count: {
            const bool takes = seen.plan.is_rooted && !seen.has(Role::receive_buffer) && !is_root;
            // Reductions have one count for both sides.
            const Side& counted =
                in_place && !seen.has(received.count) && !seen.has(received.counts) ? given : side;
            return {view(seen, counted, own_count(seen, counted, communicator.rank)), takes};
        }
        case Gives::count_for_each:
            return {view(seen, side, seen.count(side.count) * size)};
        case Gives::counts_for_each:
            return {view(seen, side, sum_of(seen, side.counts, size))};
        case Gives::counts_and_types_for_each:
            return {view_by_types(seen, side, size)};
        case Gives::count_as_root:
            return is_root ? Given{view(seen, given, seen.count(Role::send_count) * size)}
                           : Given{view(seen, received, seen.count(Role::receive_count)), true};
        case Gives::counts_as_root:
            return is_root ? Given{view(seen, given, sum_of(seen, Role::send_counts, size))}
                           : Given{view(seen, received, seen.count(Role::receive_count)), true};
        case Gives::received_count_for_each:
            return {view(seen, given, seen.count(Role::receive_count) * size)};
        case Gives::received_counts:
            return {view(seen, given, sum_of(seen, Role::receive_counts, size))};
        case Gives::neighbours:
            return {view(seen, given, seen.count(Role::send_count) * neighbours)};
        case Gives::neighbours_counts:
            return {view(seen, given, sum_of(seen, Role::send_counts, neighbours))};
        case Gives::neighbours_counts_and_types:
            return {view_by_types(seen, given, neighbours)};
    }
    return {};
}

}  // namespace

void observe_collective(const Seen& seen) {
    layout::Event event = event_of(seen);
    const SpinGuard guard(shared_state, is_multiple);
    const std::uint16_t row = communicator_row(seen.word(Role::communicator));
    const Given what = row == layout::no_row ? Given{} : view_given(seen, row);
    describe(event, what.payload);
    if (what.is_received) event.kind |= layout::receive;
    event.communicator = row;
    event.sequence = number_collective(row);
    if (seen.plan.is_rooted)
        event.peer =
            world_rank_of(row, seen.integer(Role::root) == library().root ? sections().communicators[row].rank
                                                                          : seen.integer(Role::root));
    if (seen.plan.lasting != Lasting::no) {
        if (seen.plan.lasting == Lasting::once) event.request = next_serial();
        post_request(seen, event, what.payload);
    }
    if (seen.plan.lasting > Lasting::once)
        keep_preparation(seen, event, what.payload);
    else
        keep_event(seen, event, what.payload);
}

}  // namespace slowpath::watch
