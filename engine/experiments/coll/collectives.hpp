// SPDX-License-Identifier: Apache-2.0
/// What collectives are to this experiment: names, and what of the parameters they have.
#pragma once

#include <span>
#include <string_view>

#include "mockups/mockups.hpp"

namespace slowpath::coll {

using mockups::Collective;

struct Traits {
    Collective collective;
    std::string_view name;  ///< as in MPI_Name, in lower case
    bool reduces = false;
    bool rooted = false;
    bool takes_in_place = false;
    bool between_neighbours = false;
};

std::span<const Traits> collectives();
const Traits& traits(Collective collective);

}  // namespace slowpath::coll
