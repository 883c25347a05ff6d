// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

namespace {

/// In the order of Collective.
constexpr std::array<std::string_view, 22> names{
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
};
static_assert(names.size() == static_cast<std::size_t>(Collective::neighbor_alltoallw) + 1);

}  // namespace

std::string_view name(Collective collective) {
    return names.at(static_cast<std::size_t>(collective));
}

std::optional<Collective> collective_named(std::string_view text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Collective>(found - names.begin());
}

}  // namespace slowpath::mockups
