// SPDX-License-Identifier: Apache-2.0
/// What a cell runs in: who this rank is, its clock, and where its blocks and events go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/address_book.hpp"
#include "core/calibration.hpp"
#include "core/clock.hpp"
#include "experiment/experiment.hpp"
#include "mpi/session.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"

namespace slowpath {

struct Context {
    const mpi::Session& session;
    MonotonicClock clock{};
    Calibration calibration;  ///< the worst of all ranks, so that all decide alike
    std::uint32_t launch = 0;
    std::uint32_t cell = 0;
    std::uint64_t seed = 0;
    AddressBook addresses{};  ///< of all cells: a registration cache outlives a cell
    CellRecord record{};
    CallLedger calls{};  ///< what a witnessed launch counts in the blocks of this cell
    /// What experiments say that run long, or several cells at once, between first and last word: this cell
    /// is what runs now.  Whoever watches the job sees that it goes on, and where it stood if it does not.
    /// Outside of timed regions.  @param at_once Else only if nothing was reported for some seconds.
    std::function<void(std::uint32_t cell, bool at_once)> alive = [](std::uint32_t, bool) {};
};

}  // namespace slowpath
