// SPDX-License-Identifier: Apache-2.0
/// What a cell runs in: who this rank is, its clock, and where its blocks and events go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/address_book.hpp"
#include "core/block.hpp"
#include "core/calibration.hpp"
#include "core/clock.hpp"
#include "mpi/session.hpp"

namespace slowpath {

/// What this rank has to say about the cell; brought to rank 0 after it.
struct CellRecord {
    std::vector<std::byte> blocks;
    std::string events;  ///< lines "NAME FIELDS", FIELDS as in an object of JSON without its braces
};

struct Context {
    const mpi::Session& session;
    MonotonicClock clock{};
    Calibration calibration;  ///< the worst of all ranks, so that all decide alike
    std::uint32_t launch = 0;
    std::uint32_t cell = 0;
    std::uint64_t seed = 0;
    AddressBook addresses{};  ///< of all cells: a registration cache outlives a cell
    CellRecord record{};
};

}  // namespace slowpath
