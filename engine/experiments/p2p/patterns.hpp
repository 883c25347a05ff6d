// SPDX-License-Identifier: Apache-2.0
/// The ways of exchanging messages.  Each gives the same three steps for one fresh allocation.
#pragma once

#include <functional>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

struct Steps {
    std::function<void()> first;                ///< the first message from fresh memory, timed
    std::function<void()> rest;                 ///< all others, timed
    std::function<void(Side from)> check_only;  ///< one more from that side, not timed, for its payload
};

Steps one_way(Endpoint& endpoint);
Steps ping_pong(Endpoint& endpoint);
Steps windowed(Endpoint& endpoint);
Steps overlap(Endpoint& endpoint);
Steps polling(Endpoint& endpoint);

/// Whether the library in use has partitioned messages.
bool has_partitioned();

/// Ranks that take no part: they are needed only where the timed region holds a barrier over MPI_COMM_WORLD.
void stand_by(const Config& config);

}  // namespace slowpath::p2p
