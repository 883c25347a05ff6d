// SPDX-License-Identifier: Apache-2.0
/// The ranks of a launch node by node, as launch_begin has them (docs/internals/record.md): what all ranks of
/// a node have in common is written once, so that a launch of many ranks is a short line.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath {

inline constexpr std::array<std::string_view, 5> rank_fields{"host", "pid", "cpus_allowed", "cpu",
                                                             "numa_node"};
inline constexpr std::array<std::string_view, 6> rank_clock_fields{"quantum_ns", "overhead_ns", "max_gap_ns",
                                                                   "getres_ns",  "wtick_s",     "source"};
inline constexpr std::size_t rank_value_count = rank_fields.size() + rank_clock_fields.size();

/// What one rank says of itself: JSON values, in the order of rank_fields and then rank_clock_fields.
using RankValues = std::array<std::string, rank_value_count>;

/// To send a rank's values, and back.
std::string packed(const RankValues& values);
RankValues unpacked(std::string_view text);

/// @param ranks By rank.
/// @return An array with an object for each host, in the order of their first ranks.
std::string node_ranks_json(std::span<const RankValues> ranks);

}  // namespace slowpath
