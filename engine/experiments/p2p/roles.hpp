// SPDX-License-Identifier: Apache-2.0
/// Who sends to whom.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "p2p/parameters.hpp"

namespace slowpath::p2p {

struct Roles {
    std::optional<Side> side;  ///< nullopt: this rank waits
    int peer = -1;
    std::vector<int> ranks;  ///< all that take part; the first one decides

    bool sends() const { return side == Side::sender; }
    bool receives() const { return side == Side::receiver; }
};

/// Sender and receiver of patterns of one pair.
std::array<int, 2> ends_of(const Config& config, int size);

/// windowed: rank i of the first `pairs` and rank i + pairs; all others: rank 0, and the last rank or `peer`,
/// the other way round with direction=reverse.
/// @param size Enough ranks: 2, peer + 1, or 2 * pairs.
Roles roles_of(const Config& config, int rank, int size);

}  // namespace slowpath::p2p
