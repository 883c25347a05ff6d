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
};

/// Whether the engine measures messages over this communicator. What it says to itself goes over one of its
/// own, is not counted and costs nothing.
bool is_measured(MPI_Comm among);

/// Charge a call for its data; one without data costs nothing and is not counted.
void charge_data(Call call, const void* address, std::int64_t elements, MPI_Datatype type,
                 const Other& other);

}  // namespace slowpath::plant
