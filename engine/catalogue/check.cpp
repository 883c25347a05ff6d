// SPDX-License-Identifier: Apache-2.0
#include "catalogue/check.hpp"

#include "catalogue/registry.hpp"
#include "core/error.hpp"
#include "core/json.hpp"

namespace slowpath {
namespace {

std::string metrics_json(const Experiment& experiment, const Assignment& assignment) {
    const std::string& pattern = assignment.text("pattern");
    std::vector<std::string> names;
    for (const Metric& metric : experiment.metrics())
        if (metric.pattern == pattern && experiment.yields(assignment, metric.name))
            names.push_back(json_text(metric.name));
    return json_array(names);
}

std::string refused(std::uint32_t cell, std::string_view reason) {
    return JsonObject().integer("cell", cell).text("reason", reason).str();
}

/// @throws UsageError, as a run does before its first cell.
std::optional<std::string> obstacle_of(const Experiment& experiment, const Assignment& assignment,
                                       std::optional<int> ranks) {
    experiment.validate(assignment);
    if (ranks)
        if (auto reason = too_few_ranks(experiment, *ranks)) return reason;
    return experiment.obstacle(assignment, ranks);
}

}  // namespace

std::optional<std::string> too_few_ranks(const Experiment& experiment, int ranks) {
    if (ranks >= experiment.min_ranks) return std::nullopt;
    return std::string(experiment.name) + " needs " + std::to_string(experiment.min_ranks) +
           " ranks, the job has " + std::to_string(ranks);
}

CheckedPlan check_cells(const Plan& plan, std::optional<int> ranks) {
    CheckedPlan checked;
    const auto refuse = [&](std::uint32_t cell, std::string_view reason) {
        checked.lines += refused(cell, reason) + "\n";
        checked.all_valid = false;
    };
    for (const PlannedCell& cell : plan.cells) {
        try {
            const Experiment& experiment = find_experiment(cell.experiment);
            const Assignment assignment(experiment.parameters(), cell.parameters);
            if (const auto reason = obstacle_of(experiment, assignment, ranks)) {
                refuse(cell.cell, *reason);
                continue;
            }
            JsonObject facts;
            facts.integer("cell", cell.cell).raw("metrics", metrics_json(experiment, assignment));
            experiment.derive(assignment, ranks, facts);
            checked.lines += facts.str() + "\n";
        } catch (const UsageError& error) {
            refuse(cell.cell, error.what());
        }
    }
    return checked;
}

}  // namespace slowpath
