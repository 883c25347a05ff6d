// SPDX-License-Identifier: Apache-2.0
/// Rows of collectives: blocking, nonblocking, and started as persistent requests.
#include "first_use/calls.hpp"
#include "first_use/uses.hpp"
#include "mpi/optional.hpp"

namespace slowpath::first_use {
namespace {

// Arguments that many of them share. Each rank has a message for each other one, or one in all.
#define IN_COUNTS s.in.data(), s.counts.data(), s.displacements.data(), s.unit
#define OUT_COUNTS s.given, s.counts.data(), s.displacements.data(), s.unit
#define BY_TYPES s.counts.data(), s.byte_displacements.data(), s.units.data()
#define GIVEN s.given, s.items, s.unit
#define REDUCED s.given, s.in.data(), s.items, s.unit, s.sum

Row of_all(const char* name, Step timed) {
    return Row{name, timed}.with(&Row::is_of_all, true);
}

#ifdef SLOWPATH_HAVE_MPI_PERSISTENT_COLLECTIVES
#define PRAGMA(text) _Pragma(#text)
#define WEAK(Name) PRAGMA(weak MPI_##Name##_init)
#define STARTED(name, Name, ...)                                                                         \
    ,                                                                                                    \
        of_all(#name "_init", STEP(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &s.persistent)))        \
            .around(nothing, free_persistent)                                                            \
            .where([] { return mpi::is_there(&MPI_##Name##_init); }),                                    \
        of_all("start", STEP(MPI_Start(&s.persistent)))                                                  \
            .on("MPI_" #Name "_init")                                                                    \
            .opened(STEP(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &s.persistent)), free_persistent) \
            .where([] { return mpi::is_there(&MPI_##Name##_init); })
#else
#define WEAK(Name)
#define STARTED(...)
#endif

/// The rows of one collective.
#define COLLECTIVE(name, Name, ...)               \
    of_all(#name, STEP(MPI_##Name(__VA_ARGS__))), \
        of_all("i" #name, STEP(MPI_I##name(__VA_ARGS__, REQUESTS))) STARTED(name, Name, __VA_ARGS__)

std::vector<Row> rooted() {
    return {
        COLLECTIVE(bcast, Bcast, s.in.data(), s.items, s.unit, s.root, s.world),
        COLLECTIVE(gather, Gather, GIVEN, IN, s.root, s.world),
        COLLECTIVE(gatherv, Gatherv, GIVEN, IN_COUNTS, s.root, s.world),
        COLLECTIVE(scatter, Scatter, OUT, IN, s.root, s.world),
        COLLECTIVE(scatterv, Scatterv, OUT_COUNTS, IN, s.root, s.world),
        COLLECTIVE(reduce, Reduce, REDUCED, s.root, s.world),
    };
}

std::vector<Row> of_everyone() {
    return {
        COLLECTIVE(barrier, Barrier, s.world),
        COLLECTIVE(allgather, Allgather, GIVEN, IN, s.world),
        COLLECTIVE(allgatherv, Allgatherv, GIVEN, IN_COUNTS, s.world),
        COLLECTIVE(alltoall, Alltoall, GIVEN, IN, s.world),
        COLLECTIVE(alltoallv, Alltoallv, OUT_COUNTS, IN_COUNTS, s.world),
        COLLECTIVE(alltoallw, Alltoallw, s.given, BY_TYPES, s.in.data(), BY_TYPES, s.world),
        COLLECTIVE(allreduce, Allreduce, REDUCED, s.world),
        COLLECTIVE(reduce_scatter, Reduce_scatter, s.given, s.in.data(), s.counts.data(), s.unit, s.sum,
                   s.world),
        COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, REDUCED, s.world),
        COLLECTIVE(scan, Scan, REDUCED, s.world),
        COLLECTIVE(exscan, Exscan, REDUCED, s.world),
    };
}

/// In a ring: a rank has one neighbour on either side.
std::vector<Row> of_neighbours() {
    std::vector<Row> rows{
        COLLECTIVE(neighbor_allgather, Neighbor_allgather, OUT, IN, s.neighbours),
        COLLECTIVE(neighbor_allgatherv, Neighbor_allgatherv, OUT, IN_COUNTS, s.neighbours),
        COLLECTIVE(neighbor_alltoall, Neighbor_alltoall, OUT, IN, s.neighbours),
        COLLECTIVE(neighbor_alltoallv, Neighbor_alltoallv, OUT_COUNTS, IN_COUNTS, s.neighbours),
        COLLECTIVE(neighbor_alltoallw, Neighbor_alltoallw, s.out.data(), s.counts.data(),
                   s.places_of_all.data(), s.units.data(), s.in.data(), s.counts.data(),
                   s.places_of_all.data(), s.units.data(), s.neighbours),
    };
    for (Row& row : rows) row.is_on_ring = true;
    return rows;
}

}  // namespace

std::vector<Row> collective_rows() {
    return joined({rooted(), of_everyone(), of_neighbours()});
}

}  // namespace slowpath::first_use
