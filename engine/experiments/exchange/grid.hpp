// SPDX-License-Identifier: Apache-2.0
/// Ranks in a periodic grid of three dimensions, and who is next to whom.
#pragma once

#include <array>
#include <vector>

namespace slowpath::exchange {

/// Ranks in x, y and z; rank = (x * extents[1] + y) * extents[2] + z, as in MPI_Cart_create.
using Grid = std::array<int, 3>;

/// One of the two neighbours in a dimension.
struct Neighbour {
    int dimension;  ///< 0: x
    bool upper;     ///< the one after this rank; else the one before it
    int rank;
    bool operator==(const Neighbour&) const = default;
};

/// Two for each dimension with more than one rank, which may be the same rank twice; none in the others,
/// where a rank is next to itself.  By dimension, the lower one first.
std::vector<Neighbour> neighbours_of(const Grid& grid, int rank);

/// How many ranks they are.
int distinct_ranks(const std::vector<Neighbour>& neighbours);

}  // namespace slowpath::exchange
