// SPDX-License-Identifier: Apache-2.0
/// Which nodes form a pair in one turn of a ring: node i and node i + stride, modulo the number of nodes.
#pragma once

#include <cstdint>
#include <optional>

namespace slowpath::nodes {

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
