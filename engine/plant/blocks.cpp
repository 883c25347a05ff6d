// SPDX-License-Identifier: Apache-2.0
#include "plant/blocks.hpp"

#include "plant/profiling.hpp"

namespace slowpath::plant {
namespace {

constexpr int enough = 65536;  // integers of a constructor that are read; longer ones are taken for none

}  // namespace

// MPI-4.1 section 5.1.13: the first integer of these constructors is their count of blocks.
std::uint64_t blocks_of(MPI_Datatype type) {
    static const auto envelope = profiled<decltype(&MPI_Type_get_envelope)>("PMPI_Type_get_envelope");
    static const auto contents = profiled<decltype(&MPI_Type_get_contents)>("PMPI_Type_get_contents");
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    if (envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return 0;
    const bool counted = combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR ||
                         combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED ||
                         combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    if (!counted || integers < 1 || integers > enough || addresses > enough || types != 1) return 0;
    static int numbers[enough];
    static MPI_Aint places[enough];
    MPI_Datatype inner{};
    if (contents(type, integers, addresses, types, numbers, places, &inner) != MPI_SUCCESS) return 0;
    return static_cast<std::uint64_t>(numbers[0]);
}

}  // namespace slowpath::plant
