// SPDX-License-Identifier: Apache-2.0
/// What the recorder does with each call, worked out once from the calls' names and the roles of their
/// arguments.
#pragma once

#include <cstdint>

#include "watch/call.hpp"

namespace slowpath::watch {

enum class Action : std::uint8_t {
    plain,  // counted, no event
    send,
    receive,  // from here to probe: something of the arguments is kept before the call
    matched_receive,
    exchange,  // MPI_Sendrecv
    start,
    complete,
    cancel,
    free_request,
    probe,
    collective,
    transfer,  // RMA
    epoch,
    make_window,
    free_window,
    make_communicator,
    free_communicator,
    name_communicator,
    free_datatype,
    begin,
    end_session,
};

/// What a call that ends in a request does with it.
enum class Lasting : std::uint8_t { no, once, persistent, partitioned };

/// Which requests a call says are complete.
enum class Completes : std::uint8_t { one, all, any, some };

/// What a rank gives in a collective, see observe_collectives.cpp.
enum class Gives : std::uint8_t {
    nothing,
    count,
    count_for_each,
    counts_for_each,
    count_as_root,
    counts_as_root,
    received_count_for_each,
    received_counts,
    neighbours,
    neighbours_counts,
};

inline constexpr std::size_t role_count = static_cast<std::size_t>(Role::other) + 1;

/// Of Repeated; the call with most is MPI_Get_accumulate.
inline constexpr std::size_t most_fixed = 9;

struct alignas(64) Plan {
    Action action = Action::plain;
    Lasting lasting = Lasting::no;
    Completes completes = Completes::one;
    Gives gives = Gives::nothing;
    bool is_large = false;
    bool is_test = false;
    bool is_rooted = false;
    bool ends_epoch = false;
    bool packs = false;            ///< MPI_Pack, MPI_Unpack
    bool returns_at_once = false;  ///< waits for nobody: a post, MPI_Put, MPI_Get or packing
    bool is_shown = false;         ///< others may see that a thread is in it, see current.hpp
    bool is_sampled = false;  ///< moves nothing and waits for nobody: one in some is timed (CountedPlace)
    /// Arguments that make two calls from one place alike (Repeated): all but addresses, the target's offset
    /// and what the call gives back. A call that has none is never looked up.
    std::uint8_t fixed[most_fixed] = {};
    std::uint8_t fixed_count = 0;
    bool keeps = false;      ///< something must be kept from before the call until after it, see scratch.hpp
    std::uint16_t kind = 0;  ///< bits of its event
    std::int8_t at[role_count] = {};  ///< position of the first argument of a role; -1: none

    Word of(const Word* arguments, Role role) const { return arguments[at[static_cast<std::size_t>(role)]]; }
    bool repeats() const { return fixed_count != 0; }
    bool has(Role role) const { return at[static_cast<std::size_t>(role)] >= 0; }
};

extern constinit Plan plans[call_count];

void make_plans();

/// Whether the library's own work in this call is measured each time: it is for each of many requests.
inline bool handles_many(Call call, const Word* arguments) {
    constexpr int many = 64;
    const Plan& plan = plans[call];
    return plan.has(Role::request_count) && static_cast<int>(plan.of(arguments, Role::request_count)) >= many;
}

}  // namespace slowpath::watch
