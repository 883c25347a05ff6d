// SPDX-License-Identifier: Apache-2.0
/// What is known of a cell from its parameters alone, before a job is started.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

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

}  // namespace slowpath::p2p
