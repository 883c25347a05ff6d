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
    const void* address = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 0;  ///< of all its elements together; 0: its datatype is no vector and not indexed
    std::uint64_t queue = 0;   ///< open receives of this process
    int rank = -1;
    int peer = -1;  ///< below 0: any
    Moment moment = Moment::whole;
    bool wildcard = false;  ///< a receive from any source, or of any tag
    int root = -1;          ///< of a collective; below 0: it has none
    bool in_place = false;  ///< a collective with MPI_IN_PLACE
};

/// Count the call, unless it matches only, and spend what its clauses cost, counted from `begin_ns`.
void charge(const Message& message, std::int64_t begin_ns);

/// The call is over; idle time counts from here.
void ended();

}  // namespace slowpath::plant
