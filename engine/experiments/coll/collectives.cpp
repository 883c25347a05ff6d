// SPDX-License-Identifier: Apache-2.0
#include "coll/collectives.hpp"

#include <array>

namespace slowpath::coll {
namespace {

using enum Collective;

/// In the order of the enumeration (MPI-4.1 chapters 6 and 8).
constexpr std::array table{
    Traits{.collective = barrier, .name = "barrier"},
    Traits{.collective = bcast, .name = "bcast", .rooted = true},
    Traits{.collective = gather, .name = "gather", .rooted = true, .takes_in_place = true},
    Traits{.collective = gatherv, .name = "gatherv", .rooted = true, .takes_in_place = true},
    Traits{.collective = scatter, .name = "scatter", .rooted = true, .takes_in_place = true},
    Traits{.collective = scatterv, .name = "scatterv", .rooted = true, .takes_in_place = true},
    Traits{.collective = allgather, .name = "allgather", .takes_in_place = true},
    Traits{.collective = allgatherv, .name = "allgatherv", .takes_in_place = true},
    Traits{.collective = alltoall, .name = "alltoall", .takes_in_place = true},
    Traits{.collective = alltoallv, .name = "alltoallv", .takes_in_place = true},
    Traits{.collective = alltoallw, .name = "alltoallw", .takes_in_place = true},
    Traits{.collective = reduce, .name = "reduce", .reduces = true, .rooted = true, .takes_in_place = true},
    Traits{.collective = allreduce, .name = "allreduce", .reduces = true, .takes_in_place = true},
    Traits{.collective = reduce_scatter, .name = "reduce_scatter", .reduces = true, .takes_in_place = true},
    Traits{.collective = reduce_scatter_block,
           .name = "reduce_scatter_block",
           .reduces = true,
           .takes_in_place = true},
    Traits{.collective = scan, .name = "scan", .reduces = true, .takes_in_place = true},
    Traits{.collective = exscan, .name = "exscan", .reduces = true, .takes_in_place = true},
    Traits{.collective = neighbor_allgather, .name = "neighbor_allgather", .between_neighbours = true},
    Traits{.collective = neighbor_allgatherv, .name = "neighbor_allgatherv", .between_neighbours = true},
    Traits{.collective = neighbor_alltoall, .name = "neighbor_alltoall", .between_neighbours = true},
    Traits{.collective = neighbor_alltoallv, .name = "neighbor_alltoallv", .between_neighbours = true},
    Traits{.collective = neighbor_alltoallw, .name = "neighbor_alltoallw", .between_neighbours = true},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (static_cast<std::size_t>(table[i].collective) != i) return false;
    return true;
}
static_assert(in_order());

}  // namespace

std::span<const Traits> collectives() {
    return table;
}

const Traits& traits(Collective collective) {
    return table[static_cast<std::size_t>(collective)];
}

}  // namespace slowpath::coll
