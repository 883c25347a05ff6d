// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::nodes {

// The experiment `nodes`: all nodes of a job at the same time, each by itself or in pairs along a ring.

extern const Experiment experiment;

// What a cell of the experiment nodes is given.

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

// What a node takes by itself, without messages: its processors, its memory, the kernel's copy.

/// Samples of one kind. part: of the block (docs/reference/engine-interface.md).
struct Series {
    std::uint64_t part = 0;
    std::uint32_t batch = 1;
    std::vector<std::int64_t> durations_ns{};
};

/// What was measured, or why it can't be.
struct Measured {
    std::vector<Series> series{};
    std::optional<std::string> reason{};
};

/// Steps of one sample of pattern=work.
inline constexpr std::int64_t work_steps = 1 << 17;
/// Dependent reads of one sample of pattern=access.
inline constexpr std::uint32_t accesses = 1 << 14;

/// Measure one of the patterns without pairs on this node.
Measured measure_alone(const Config& config);

// Which nodes form a pair in one turn of a ring: node i and node i + stride, modulo the number of nodes.

/// Turns of a ring: in one turn no node is in two pairs.  A cycle of an odd number of nodes needs the third.
inline constexpr std::int64_t most_turns = 3;

struct PairOfNodes {
    int from = 0, to = 0;
};

/// The pair that `node` belongs to in this turn; nullopt: it waits.
/// @param count Nodes, at least 1.  @param stride At least 1; taken modulo `count`.
/// @param turn 0 to most_turns - 1.
std::optional<PairOfNodes> pair_of(int node, int count, std::int64_t stride, std::int64_t turn);

}  // namespace slowpath::nodes
