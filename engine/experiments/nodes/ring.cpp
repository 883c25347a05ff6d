// SPDX-License-Identifier: Apache-2.0
#include "nodes/ring.hpp"

#include <numeric>

namespace slowpath::nodes {
namespace {

/// The turn of the edge from position k of a cycle of `length` nodes to position k + 1; nullopt: there is
/// none.
std::optional<std::int64_t> turn_of(int k, int length) {
    if (length < 2 || (length == 2 && k == 1))
        return std::nullopt;  // of two nodes each edge is the same pair
    if (length % 2 == 1 && k == length - 1) return 2;
    return k % 2;
}

}  // namespace

std::optional<PairOfNodes> pair_of(int node, int count, std::int64_t stride, std::int64_t turn) {
    const int step = static_cast<int>(stride % count);
    const int cycles = std::gcd(step, count);  // gcd(0, count) is count: each node is a cycle of its own
    const int length = count / cycles;
    int position = 0;
    for (int at = node % cycles; at != node; at = (at + step) % count) ++position;
    if (turn_of(position, length) == turn) return PairOfNodes{node, (node + step) % count};
    const int before = (position + length - 1) % length;
    if (turn_of(before, length) == turn) return PairOfNodes{(node + count - step) % count, node};
    return std::nullopt;
}

}  // namespace slowpath::nodes
