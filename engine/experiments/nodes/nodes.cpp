// SPDX-License-Identifier: Apache-2.0
#include "nodes/nodes.hpp"

#include <algorithm>

#include "core/text_table.hpp"
#include "experiment/context.hpp"
#include "mpi/agree.hpp"
#include "mpi/barrier.hpp"
#include "mpi/check.hpp"
#include "nodes/alone.hpp"
#include "nodes/pairs.hpp"
#include "nodes/parameters.hpp"
#include "nodes/ring.hpp"
#include "record/witness.hpp"

namespace slowpath::nodes {
namespace {

/// The first rank of each node, ascending, on every rank.
std::vector<int> first_ranks(const mpi::Session& session) {
    const int first = session.node_rank() == 0 ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(session.size()));
    mpi::check(MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, session.control()), "MPI_Allgather");
    std::vector<int> found;
    for (int rank = 0; rank < session.size(); ++rank)
        if (all[static_cast<std::size_t>(rank)] != 0) found.push_back(rank);
    return found;
}

/// Where nodes wait for each other, and give their processors away meanwhile.
void meet(const mpi::Barrier& barrier) {
    std::array<std::int64_t, 1> nothing{};
    barrier.wait(nothing);
}

Measured measure(const Config& config, const mpi::Session& session, const std::vector<int>& first) {
    const auto me = std::find(first.begin(), first.end(), session.rank());
    if (me == first.end()) return {};
    if (!config.pairs()) return measure_alone(config);
    const auto pair = pair_of(static_cast<int>(me - first.begin()), static_cast<int>(first.size()),
                              config.stride, config.turn);
    if (!pair || (config.only && *config.only != pair->from)) return {};
    const int from = first[static_cast<std::size_t>(pair->from)],
              to = first[static_cast<std::size_t>(pair->to)];
    const int peer = from == session.rank() ? to : from;
    return measure_pair(config, session.control(), peer, (from == session.rank()) != config.reversed);
}

void record(Context& context, const Measured& measured, std::int64_t begin_ns, const Witness& before) {
    const Witness after = read_witness();
    for (const Series& series : measured.series) {
        BlockHeader header;
        header.cell = context.cell;
        header.launch = context.launch;
        header.rank = static_cast<std::uint32_t>(context.session.rank());
        header.phase = Phase::steady;
        header.batch = series.batch;
        header.t0_ns = begin_ns;
        header.part = series.part;
        store_witness(header, before, after);
        append_block(context.record.blocks, header, series.durations_ns);
    }
    if (!measured.reason) return;
    JsonObject note;
    note.text("text", *measured.reason).integer("cell", context.cell).integer("rank", context.session.rank());
    context.record.events += "note " + note.fields() + "\n";
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const mpi::Session& session = context.session;
    const std::vector<int> first = first_ranks(session);
    Outcome outcome;
    if (config.pairs() && first.size() < 2) {
        outcome.status = Status::skipped;
        outcome.reason = "all ranks are on one node, and pairs need two";
        return outcome;
    }
    std::vector<int> everyone(static_cast<std::size_t>(session.size()));
    for (int rank = 0; rank < session.size(); ++rank) everyone[static_cast<std::size_t>(rank)] = rank;
    const mpi::Barrier barrier(session.control(), everyone);
    meet(barrier);
    const Witness before = read_witness();
    const std::int64_t begin_ns = context.clock.now_ns();
    const Measured measured = measure(config, session, first);
    record(context, measured, begin_ns, before);
    meet(barrier);
    std::int64_t taken = 0;
    for (const Series& series : measured.series)
        taken = std::max(taken, static_cast<std::int64_t>(series.durations_ns.size()));
    const std::array mine{taken};
    outcome.steady_samples = mpi::reduce(session.control(), mine, MPI_MAX)[0];
    outcome.stopped_because = outcome.steady_samples < config.samples ? "time" : "samples";
    if (outcome.steady_samples == 0) {
        outcome.status = Status::skipped;
        outcome.reason = mpi::first_text(session.control(), measured.reason)
                             .value_or("no pair of nodes has this stride and turn");
    }
    return outcome;
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    std::vector<double> times_us;
    for (const Block& block : numbers.blocks)
        for (const std::int64_t duration_ns : block.durations_ns)
            times_us.push_back(static_cast<double>(duration_ns) / (1e3 * block.header.batch));
    return {{"Stride", "Time(us)"}, assignment.integer("stride"), {median(times_us)}};
}

}  // namespace

const Experiment experiment{
    .name = "nodes",
    .summary = "all nodes at the same time: each by itself, or in pairs along a ring",
    .min_ranks = 1,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "stride",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment& assignment, std::optional<int> ranks) -> std::optional<std::string> {
        if (configure(assignment).pairs() && ranks && *ranks < 2)
            return "pairs need two ranks, each on a node";
        return std::nullopt;
    },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = [](const Assignment&, std::optional<int>, JsonObject&) {},
    .run = run,
    .tabulate = tabulate,
};

}  // namespace slowpath::nodes
