// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/error.hpp"
#include "experiments/context.hpp"
#include "experiments/registry.hpp"
#include "memory/buffer.hpp"
#include "mpi/agree.hpp"
#include "mpi/launch_info.hpp"
#include "mpi/library.hpp"
#include "report.hpp"

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
    constexpr std::int64_t coarsest_ns = 1000;
    if (all[0] > coarsest_ns)
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
        if (session.size() < experiment.min_ranks)
            throw AgreedFailure(cell.experiment + " needs " + std::to_string(experiment.min_ranks) +
                                " ranks, the job has " + std::to_string(session.size()) +
                                "; start it as: mpiexec -n " + std::to_string(experiment.min_ranks) +
                                " slowpath-engine ...");
    }
}

Outcome run_cell(Context& context, Report& report, const PlannedCell& cell) {
    const Experiment& experiment = find_experiment(cell.experiment);
    const Assignment assignment(experiment.parameters(), cell.parameters);
    context.cell = cell.cell;
    context.record = {};
    report.begin_cell(cell.cell);
    Outcome outcome = experiment.run(context, assignment);
    report.end_cell(context.record, experiment, assignment, outcome);
    return outcome;
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
    report.begin_launch(plan, mine);
    std::array<int, 3> counts{};  // by Status
    for (const PlannedCell& cell : plan.cells)
        ++counts[static_cast<std::size_t>(run_cell(context, report, cell).status)];
    report.end_launch(counts);
    return counts[static_cast<std::size_t>(Status::failed)] == 0 ? exit_ok : exit_wrong_payload;
}

}  // namespace slowpath
