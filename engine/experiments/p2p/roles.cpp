// SPDX-License-Identifier: Apache-2.0
#include "p2p/roles.hpp"

#include <utility>

namespace slowpath::p2p {
namespace {

/// Whether messages go to rank 0. Who polls decides, as who sends does elsewhere, and receives at the end.
bool to_rank_0(const Config& config) {
    return config.reversed != (config.pattern == Pattern::polling);
}

}  // namespace

Roles roles_of(const Config& config, int rank, int size) {
    const int pairs = config.pattern == Pattern::windowed ? static_cast<int>(config.pairs) : 1;
    const int distance = config.pattern == Pattern::windowed ? pairs : config.peer.value_or(size - 1);
    Roles roles;
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair);
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair + distance);
    if (config.reversed) std::swap(roles.ranks.front(), roles.ranks.back());  // only one pair can be
    const bool reversed = to_rank_0(config);
    if (rank < pairs) {
        roles.side = reversed ? Side::receiver : Side::sender;
        roles.peer = rank + distance;
    } else if (rank >= distance && rank < distance + pairs) {
        roles.side = reversed ? Side::sender : Side::receiver;
        roles.peer = rank - distance;
    }
    return roles;
}

std::array<int, 2> ends_of(const Config& config, int size) {
    const int other = config.peer.value_or(size - 1);
    if (to_rank_0(config)) return {other, 0};
    return {0, other};
}

}  // namespace slowpath::p2p
