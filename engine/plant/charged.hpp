// SPDX-License-Identifier: Apache-2.0
/// From the arguments of an MPI call to what the plants charge for it.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "plant/plant.hpp"

namespace slowpath::plant {

/// The other side of a call: where it goes to, or where it comes from.
struct Other {
    int peer;
    bool is_measured = true;
    Moment moment = Moment::whole;
    bool wildcard = false;
};

/// Whether the engine measures messages over this communicator. What it says to itself goes over one of its
/// own, is not counted and costs nothing.
bool is_measured(MPI_Comm among);

/// Charge a call for its data; one without data costs nothing and is not counted.
void charge_data(Call call, const void* address, std::int64_t elements, MPI_Datatype type,
                 const Other& other);

/// Charge a call without data of its own, whatever its communicator.
void charge_call(Call call);

/// Charge a collective, whatever its communicator.
/// @param send, receive Buffers, of which either may be MPI_IN_PLACE.  @param root Below 0: it has none.
void charge_collective(Call call, const void* send, const void* receive, int elements, MPI_Datatype type,
                       int root);

/// Whether open receives are counted: a clause asks for them.
bool counts_receives();

}  // namespace slowpath::plant
