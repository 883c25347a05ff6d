// SPDX-License-Identifier: Apache-2.0
/// plan.txt, version 1: docs/internals/record.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/sweep.hpp"

namespace slowpath {

inline constexpr int plan_version = 1;

struct PlannedCell {
    std::uint32_t cell;
    std::string experiment;
    KeyValues parameters;
};

struct Plan {
    std::uint32_t launch = 0;
    std::uint64_t seed = 0;
    std::vector<PlannedCell> cells;  ///< in the order of their lines
};

/// @throws UsageError naming the line: wrong version, unknown word, a cell twice, a parameter without '='.
Plan parse_plan(std::string_view text);

}  // namespace slowpath
