// SPDX-License-Identifier: Apache-2.0
#include "p2p/roles.hpp"

namespace slowpath::p2p {

Roles roles_of(const Config& config, int rank, int size) {
    const int pairs = config.pattern == Pattern::windowed ? static_cast<int>(config.pairs) : 1;
    const int distance = config.pattern == Pattern::windowed ? pairs : config.peer.value_or(size - 1);
    Roles roles;
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair);
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair + distance);
    if (rank < pairs) {
        roles.side = Side::sender;
        roles.peer = rank + distance;
    } else if (rank >= distance && rank < distance + pairs) {
        roles.side = Side::receiver;
        roles.peer = rank - distance;
    }
    return roles;
}

}  // namespace slowpath::p2p
