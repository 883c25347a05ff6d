// SPDX-License-Identifier: Apache-2.0
#include "put/put.hpp"

#include <array>

#include "mpi/agree.hpp"
#include "put/cell.hpp"
#include "put/layout.hpp"
#include "put/tabulate.hpp"

namespace slowpath::put {
namespace {

/// Collective over all ranks: what the two found, known to every one.
Outcome outcome_of(const Context& context, const CellResult& mine) {
    const MPI_Comm control = context.session.control();
    Outcome outcome;
    const std::array sums{mine.compared_bytes, mine.wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, sums, MPI_SUM);
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    const std::array origin{std::int64_t{mine.batch}, mine.steady_samples, std::int64_t{mine.cut_by_time}};
    const std::vector<std::int64_t> known = mpi::reduce(control, origin, MPI_MAX);
    outcome.batch = static_cast<std::uint32_t>(known[0]);
    outcome.steady_samples = known[1];
    if (const auto skipped = mpi::first_text(control, mine.skipped)) {
        outcome.status = Status::skipped;
        outcome.reason = skipped;
        return outcome;
    }
    outcome.stopped_because = known[2] != 0 ? "time" : "samples";
    outcome.reason = mpi::first_text(control, mine.wrong);
    if (outcome.reason) outcome.status = Status::failed;
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    // Every process of the job would have to start OpenSHMEM, and its numbers of processes are the job's.
    if (config.uses_openshmem() && context.session.size() != 2) {
        Outcome outcome;
        outcome.status = Status::skipped;
        outcome.reason = "design=" + config.design + " needs a job of 2 ranks, this one has " +
                         std::to_string(context.session.size());
        return outcome;
    }
    Pair pair(context.session.control());
    const CellResult mine = pair.takes_part() ? run_on_pair(context, config, pair) : CellResult{};
    pair.release();
    return outcome_of(context, mine);
}

/// Puts are counted instruction by instruction only if the cell asks for it.
bool yields(const Assignment& assignment, std::string_view metric) {
    return !metric.starts_with("instructions_per") || assignment.integer("instructions") > 0;
}

/// The origin holds data, results and comparands, the target its window.
void derive(const Assignment& assignment, std::optional<int>, JsonObject& to) {
    const Layout layout = layout_of(configure(assignment));
    const std::string bytes = std::to_string(layout.bytes());
    const std::array<std::string, 2> buffers{bytes, bytes};
    const std::array<std::string, 2> held{std::to_string(3 * layout.bytes()), bytes};
    to.integer("slots", layout.slots).integer("slot_bytes", layout.slot_bytes);
    to.raw("buffer_bytes", json_array(buffers)).raw("held_bytes", json_array(held));
}

}  // namespace

const Experiment experiment{
    .name = "put",
    .summary = "one-sided messages: what MPI_Put and its synchronisation cost, next to layers that do less",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "message_bytes",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment&, std::optional<int>) { return std::optional<std::string>(); },
    .yields = yields,
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
};

}  // namespace slowpath::put
