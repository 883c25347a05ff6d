// SPDX-License-Identifier: Apache-2.0
#include "plant/charged.hpp"

#include "plant/blocks.hpp"
#include "plant/open_receives.hpp"
#include "plant/profiling.hpp"
#include "plant/spend.hpp"

namespace slowpath::plant {
namespace {

/// MPI_COMM_WORLD. Open MPI's is an address in its library, which programs without MPI do not load.
MPI_Comm world() {
#ifdef OPEN_MPI
    static void* const found = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    return static_cast<MPI_Comm>(found);
#else
    return MPI_COMM_WORLD;
#endif
}

int own_rank() {
    static const auto rank_of = profiled<decltype(&MPI_Comm_rank)>("PMPI_Comm_rank");
    int rank = -1;
    rank_of(world(), &rank);
    return rank;
}

}  // namespace

bool is_measured(MPI_Comm among) {
    return among == world();
}

void charge_data(Call call, const void* address, std::int64_t elements, MPI_Datatype type,
                 const Other& other) {
    if (plants().count == 0 || !other.is_measured) return;
    const std::int64_t begin_ns = now_ns();
    static const auto size_of = profiled<decltype(&MPI_Type_size)>("PMPI_Type_size");
    int size = 0;
    if (size_of(type, &size) != MPI_SUCCESS || size <= 0 || elements <= 0) return;
    const auto count = static_cast<std::uint64_t>(elements);
    const std::uint64_t pieces = plants().charges_by(Per::block) ? blocks_of(type) : 0;
    charge({.call = call,
            .address = address,
            .bytes = count * static_cast<std::uint64_t>(size),
            .blocks = pieces * count,
            .queue = open_receives(),
            .rank = own_rank(),
            .peer = other.peer,
            .moment = other.moment,
            .wildcard = other.wildcard},
           begin_ns);
}

void charge_call(Call call) {
    if (plants().count == 0) return;
    const std::int64_t begin_ns = now_ns();
    charge({.call = call, .queue = open_receives(), .rank = own_rank()}, begin_ns);
}

void charge_collective(Call call, const void* send, const void* receive, int elements, MPI_Datatype type,
                       int root) {
    if (plants().count == 0) return;
    const std::int64_t begin_ns = now_ns();
    static const auto size_of = profiled<decltype(&MPI_Type_size)>("PMPI_Type_size");
    int size = 0;
    if (size_of(type, &size) != MPI_SUCCESS) return;
    const bool in_place = send == MPI_IN_PLACE || receive == MPI_IN_PLACE;
    const std::uint64_t bytes = size > 0 && elements > 0
                                    ? static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size)
                                    : 0;
    charge({.call = call,
            .address = send == MPI_IN_PLACE ? receive : send,
            .bytes = bytes,
            .queue = open_receives(),
            .rank = own_rank(),
            .root = root,
            .in_place = in_place},
           begin_ns);
}

bool counts_receives() {
    static const bool asked = plants().charges_by(Per::queue) || plants().looks_at(Quantity::open);
    return asked;
}

}  // namespace slowpath::plant
