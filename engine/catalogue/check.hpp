// SPDX-License-Identifier: Apache-2.0
/// The one judge of a cell: what a run refuses or skips because of its parameters, without MPI.
#pragma once

#include <optional>
#include <string>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath {

/// "p2p needs 2 ranks, the job has 1"; nullopt: `ranks` are enough.
std::optional<std::string> too_few_ranks(const Experiment& experiment, int ranks);

struct CheckedPlan {
    /// An object of JSON for each cell, in the order of the plan: docs/reference/engine-interface.md.
    std::string lines;
    bool all_valid = true;
};

/// @param ranks Of the job that is to run the plan; nullopt: judge what holds for any.
CheckedPlan check_cells(const Plan& plan, std::optional<int> ranks);

}  // namespace slowpath
