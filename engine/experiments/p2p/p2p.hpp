// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "experiment/experiment.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

// Point-to-point messages between ranks: how long the first one from fresh memory takes, and the later ones.

extern const Experiment experiment;

// A cell's line on stdout.

/// Medians over the cell's samples; metrics as in tables.cpp.
TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

// What is known of a cell from its parameters alone, before a job is started.

/// "peer=2 needs 3 ranks, the job has 2"; nullopt: `ranks` are enough.
std::optional<std::string> too_few_ranks(const Config& config, int ranks);

/// Experiment::obstacle.
std::optional<std::string> known_obstacle(const Assignment& assignment, std::optional<int> ranks);

/// Experiment::yields: with synchronise=inside a sample holds the barrier too, and no other metric; with
/// posted=before and after the receiver enters the library late on purpose.
bool yields(const Assignment& assignment, std::string_view metric);

/// Experiment::route.
std::optional<Route> route(const Assignment& assignment, int size);

/// Experiment::derive: where a message lies and how much memory each side holds.
void derive(const Assignment& assignment, std::optional<int> ranks, JsonObject& to);

// The ways of exchanging messages.  Each gives the same three steps for one fresh allocation.

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
