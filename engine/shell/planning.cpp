// SPDX-License-Identifier: Apache-2.0
#include "catalogue/registry.hpp"
#include "core/error.hpp"
#include "shell/run.hpp"

namespace slowpath {

Plan plan_of(const Arguments& arguments) {
    const Experiment& experiment = find_experiment(arguments.experiment);
    Plan plan;
    for (KeyValues& parameters : expand_cells(experiment.parameters(), arguments.parameters))
        plan.cells.push_back(
            {static_cast<std::uint32_t>(plan.cells.size()), arguments.experiment, std::move(parameters)});
    check_plan(plan);
    return plan;
}

void check_plan(const Plan& plan) {
    for (const PlannedCell& cell : plan.cells) {
        try {
            const Experiment& experiment = find_experiment(cell.experiment);
            experiment.validate(Assignment(experiment.parameters(), cell.parameters));
        } catch (const UsageError& error) {
            if (plan.cells.size() == 1) throw;
            throw UsageError("cell " + std::to_string(cell.cell) + ": " + error.what());
        }
    }
}

}  // namespace slowpath
