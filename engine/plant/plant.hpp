// SPDX-License-Identifier: Apache-2.0
/// The plants of this process, and what they do to its calls.
#pragma once

#include <cstdint>

#include "plant/clause.hpp"

namespace slowpath::plant {

/// What SLOWPATH_PLANT holds where this process is a rank of the engine; empty elsewhere.
const Plants& plants();

/// MPI_Irecv posts, MPI_Wait matches: what the queue costs is paid there, all else when it is posted.
enum class Moment { whole, posting, matching };

/// One call, as the library that it goes to sees it.
struct Message {
    Call call;
    const void* address;
    std::uint64_t bytes;
    std::uint64_t blocks;  ///< of all its elements together; 0: its datatype is no vector and not indexed
    std::uint64_t queue;   ///< open receives of this process
    int rank;
    int peer;  ///< below 0: any
    Moment moment;
};

/// Count the call, unless it matches only, and spend what its clauses cost, counted from `begin_ns`.
void charge(const Message& message, std::int64_t begin_ns);

/// The call is over; idle time counts from here.
void ended();

}  // namespace slowpath::plant
