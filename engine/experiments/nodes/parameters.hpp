// SPDX-License-Identifier: Apache-2.0
/// What a cell of the experiment nodes is given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::nodes {

enum class Pattern { work, copy, access, single_copy, latency, stream };

struct Config {
    Pattern pattern;
    std::int64_t array_bytes;
    std::int64_t message_bytes;
    std::int64_t in_flight;
    std::int64_t stride;
    std::int64_t turn;
    std::optional<int> only;  ///< the pair of this node alone; nullopt: all pairs at the same time
    bool reversed;
    std::int64_t samples;
    double time_limit_s;

    bool pairs() const { return pattern == Pattern::latency || pattern == Pattern::stream; }
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: messages in flight that are too long.
Config configure(const Assignment& assignment);

}  // namespace slowpath::nodes
