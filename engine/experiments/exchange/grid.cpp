// SPDX-License-Identifier: Apache-2.0
#include "exchange/grid.hpp"

#include <set>

namespace slowpath::exchange {
namespace {

int rank_at(const Grid& grid, const std::array<int, 3>& place) {
    return (place[0] * grid[1] + place[1]) * grid[2] + place[2];
}

}  // namespace

std::vector<Neighbour> neighbours_of(const Grid& grid, int rank) {
    const std::array<int, 3> place{rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    std::vector<Neighbour> found;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const auto d = static_cast<std::size_t>(dimension);
        if (grid[d] == 1) continue;
        for (const bool upper : {false, true}) {
            std::array<int, 3> next = place;
            next[d] = (place[d] + (upper ? 1 : grid[d] - 1)) % grid[d];
            found.push_back({dimension, upper, rank_at(grid, next)});
        }
    }
    return found;
}

int distinct_ranks(const std::vector<Neighbour>& neighbours) {
    std::set<int> ranks;
    for (const Neighbour& one : neighbours) ranks.insert(one.rank);
    return static_cast<int>(ranks.size());
}

}  // namespace slowpath::exchange
