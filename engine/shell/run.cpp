// SPDX-License-Identifier: Apache-2.0
#include "shell/run.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "catalogue/check.hpp"
#include "catalogue/registry.hpp"
#include "core/error.hpp"
#include "experiment/context.hpp"
#include "memory/buffer.hpp"
#include "mpi/launch.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"
#include "shell/report.hpp"
#include "shell/witnessing.hpp"
#include "shell/yardsticks.hpp"
#include "yardstick/fixed_work.hpp"
#include "yardstick/processor_time.hpp"

namespace slowpath {
namespace {

/// Rank 0 reads, since other nodes may not see the file.
Plan shared_plan(const mpi::Session& session, const std::string& path) {
    std::string text = "!";  // '+' and the plan, or '!' and why there is none
    if (session.rank() == 0) {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream content;
        if (file && (file.peek() == std::ifstream::traits_type::eof() || content << file.rdbuf()))
            text = "+" + content.str();
        else
            text += "can't read the plan " + path + ": " + std::strerror(errno);
    }
    text = mpi::text_of_root(session.control(), std::move(text));
    if (text[0] == '!') throw UsageError(text.substr(1));
    Plan plan = parse_plan(std::string_view(text).substr(1));
    check_plan(plan);
    return plan;
}

/// All ranks must decide alike, so they use the worst clock.
Calibration worst_of(const mpi::Session& session, const Calibration& mine) {
    const std::array numbers{mine.quantum_ns, mine.overhead_ns, mine.max_gap_ns};
    const std::vector<std::int64_t> all = mpi::reduce(session.control(), numbers, MPI_MAX);
    if (all[0] > coarsest_quantum_ns)
        throw AgreedFailure("the clock CLOCK_MONOTONIC advances in steps of " + std::to_string(all[0]) +
                            " ns (clock source " + clock_source() + "); at most 1000 ns are of use");
    return {all[0], all[1], all[2]};
}

void require_ranks(const mpi::Session& session, const Plan& plan) {
    const std::optional<int> started = mpi::size_from_environment();
    if (session.size() == 1 && started.value_or(1) > 1)
        throw AgreedFailure(
            "the MPI library was started by the wrong launcher or PMI: " + std::to_string(*started) +
            " singletons; use the mpiexec of the library that this engine was built with, or "
            "srun --mpi=... of its kind");
    for (const PlannedCell& cell : plan.cells) {
        const Experiment& experiment = find_experiment(cell.experiment);
        if (const auto reason = too_few_ranks(experiment, session.size()))
            throw AgreedFailure(*reason + "; start it as: mpiexec -n " +
                                std::to_string(experiment.min_ranks) + " slowpath-engine ...");
    }
}

/// A planned cell with its parameters read.
struct ReadCell {
    std::uint32_t cell;
    const Experiment* experiment;
    Assignment assignment;
};

std::vector<ReadCell> read_cells(const Plan& plan) {
    std::vector<ReadCell> cells;
    for (const PlannedCell& cell : plan.cells) {
        const Experiment& experiment = find_experiment(cell.experiment);
        cells.push_back({cell.cell, &experiment, Assignment(experiment.parameters(), cell.parameters)});
    }
    return cells;
}

/// Each message that the plan's cells send, once.
std::set<Route> routes_of(const Plan& plan, int size) {
    std::set<Route> routes;
    for (const ReadCell& cell : read_cells(plan)) {
        if (cell.experiment->route == nullptr) continue;
        if (const auto route = cell.experiment->route(cell.assignment, size)) routes.insert(*route);
    }
    return routes;
}

Outcome run_alone(Context& context, Report& report, const ReadCell& cell) {
    context.cell = cell.cell;
    context.record = {};
    report.begin_cell(cell.cell);
    Outcome outcome = cell.experiment->run(context, cell.assignment);
    context.record.events += context.calls.take(cell.cell, context.session.rank());
    report.end_cell(cell.cell, context.record, *cell.experiment, cell.assignment, outcome);
    return outcome;
}

/// The first of `cells` with all others that differ from it in the experiment's interleaved parameter alone;
/// they leave `cells`.
std::vector<ReadCell> take_group(std::vector<ReadCell>& cells) {
    const ReadCell first = cells.front();
    const std::string_view by = first.experiment->interleaved_by;
    const auto together = [&](const ReadCell& other) {
        return other.experiment == first.experiment &&
               (other.cell == first.cell ||
                (!by.empty() && other.assignment.differences(by) == first.assignment.differences(by)));
    };
    std::vector<ReadCell> group;
    std::copy_if(cells.begin(), cells.end(), std::back_inserter(group), together);
    std::erase_if(cells, together);
    return group;
}

std::vector<Outcome> run_group(Context& context, Report& report, const std::vector<ReadCell>& group) {
    const Experiment& experiment = *group.front().experiment;
    std::vector<GroupMember> members;
    for (const ReadCell& cell : group) members.push_back({.cell = cell.cell, .assignment = &cell.assignment});
    for (const GroupMember& member : members) report.begin_cell(member.cell);
    experiment.run_together(context, members);
    std::vector<Outcome> outcomes;
    for (const GroupMember& member : members) {
        report.end_cell(member.cell, member.record, experiment, *member.assignment, member.outcome);
        outcomes.push_back(member.outcome);
    }
    return outcomes;
}

}  // namespace

int run_cells(const mpi::Session& session, const Arguments& arguments) {
    const Plan plan = arguments.plan ? shared_plan(session, *arguments.plan) : plan_of(arguments);
    require_ranks(session, plan);
    memory::set_mpi_allocator(mpi::allocate_memory, mpi::free_memory);
    MonotonicClock clock;
    const Calibration mine = calibrate(clock);
    Context context{.session = session, .calibration = worst_of(session, mine)};
    context.launch = plan.launch;
    context.seed = plan.seed;
    Report report(session, arguments);
    context.alive = [&report](std::uint32_t cell, bool at_once) { report.alive(cell, at_once); };
    report.begin_launch(plan, mine);
    const bool writes = session.rank() == 0 && arguments.out;
    Witnessing witnessing(context.calls.witnessed() && writes, arguments.out.value_or(""));
    witnessing.begin();
    Yardsticks yardsticks(session, plan.launch);
    if (!context.calls.witnessed()) yardsticks.plan_for(routes_of(plan, session.size()));
    // Between cells, where no rank is in a timed region.
    yardstick::FixedWork fixed_work;
    const bool samples = yardstick::samples_fixed_work(session.rank(), session.size());
    if (samples) fixed_work.visit(yardstick::fixed_work_at_ends);
    std::array<int, 3> counts{};  // by Status
    for (std::vector<ReadCell> left = read_cells(plan); !left.empty();) {
        const std::vector<ReadCell> group = take_group(left);
        const std::vector<Outcome> outcomes = group.front().experiment->run_together != nullptr
                                                  ? run_group(context, report, group)
                                                  : std::vector{run_alone(context, report, group.front())};
        if (samples)
            fixed_work.visit(left.empty() ? yardstick::fixed_work_at_ends : yardstick::fixed_work_between);
        for (const Outcome& outcome : outcomes) ++counts[static_cast<std::size_t>(outcome.status)];
    }
    witnessing.end();
    report.rank_events(fixed_work.line(session.rank()));
    report.rank_events(yardsticks.measured());
    // Last: by then a process has done much of both, so that shares of its life can't pass for shares of a
    // stretch.
    report.rank_events(samples ? yardstick::processor_time_line(session.rank()) : "");
    report.end_launch(counts);
    return counts[static_cast<std::size_t>(Status::failed)] == 0 ? exit_ok : exit_wrong_payload;
}

}  // namespace slowpath
