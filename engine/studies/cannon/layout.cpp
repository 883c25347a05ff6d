// SPDX-License-Identifier: Apache-2.0
#include "cannon/layout.hpp"

#include <numeric>

namespace slowpath::cannon {
namespace {

int wrapped(int index, int count) {
    return ((index % count) + count) % count;
}

}  // namespace

int Layout::steps() const {
    return std::lcm(rows, columns);
}

int Layout::rank_at(int at_row, int at_column) const {
    return wrapped(at_row, rows) * columns + wrapped(at_column, columns);
}

Layout square_as_possible(std::int64_t n, int ranks, int rank) {
    int rows = 1;
    for (int candidate = 1; candidate * candidate <= ranks; ++candidate)
        if (ranks % candidate == 0) rows = candidate;
    const int columns = ranks / rows;
    return {n, rows, columns, rank / columns, rank % columns};
}

Layout ring(std::int64_t n, int ranks, int rank) {
    return {n, 1, ranks, 0, rank};
}

}  // namespace slowpath::cannon
