// SPDX-License-Identifier: Apache-2.0
/// What a node takes by itself, without messages: its processors, its memory, the kernel's copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodes/parameters.hpp"

namespace slowpath::nodes {

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

}  // namespace slowpath::nodes
