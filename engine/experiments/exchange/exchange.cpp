// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange.hpp"

#include <map>
#include <memory>
#include <new>

#include "core/pattern.hpp"
#include "core/text_table.hpp"
#include "exchange/measurement.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::exchange {
namespace {

/// Contents of one cell's messages.
enum Number : std::uint64_t { timed = 0, fresh = 1 };

Grid grid_of(int ranks) {
    Grid grid{};
    mpi::check(MPI_Dims_create(ranks, 3, grid.data()), "MPI_Dims_create");
    return grid;
}

/// The grid, in the cell's record (docs/internals/record.md); the same on every rank, so that one says it.
void record_grid(Context& context, const Grid& grid, const std::vector<Neighbour>& neighbours) {
    if (context.session.rank() != 0) return;
    const int ranks = distinct_ranks(neighbours);
    const std::string text = "ranks stand in a grid of " + std::to_string(grid[0]) + " x " +
                             std::to_string(grid[1]) + " x " + std::to_string(grid[2]) + ": each sends " +
                             std::to_string(neighbours.size()) + " faces, to " + std::to_string(ranks) +
                             (ranks == 1 ? " neighbour" : " neighbours");
    JsonObject note;
    note.text("text", text).integer("cell", context.cell).integer("rank", 0);
    context.record.events += "note " + note.fields() + "\n";
}

void measure(Measurement& measurement, Halo& halo, bool validate) {
    const auto compare = [&](Number number, const char* when) {
        if (validate) halo.compare(number, when);
    };
    if (validate) halo.prepare(timed);
    measurement.first();
    compare(timed, "after the first exchange");
    measurement.rest();
    compare(timed, "after the last exchange");
    if (!validate) return;
    // New bytes, so that what came earlier can't stand in for them.
    halo.prepare(fresh);
    mpi::check(halo.exchange(), "MPI_Irecv, MPI_Isend or MPI_Waitall");
    compare(fresh, "in an exchange after the timed ones");
}

/// Collective: what the ranks found, put together.
Outcome finish(const Context& context, const Halo& halo, const Measurement& measurement) {
    const MPI_Comm control = context.session.control();
    Outcome outcome;
    const std::array mine{halo.compared_bytes, halo.wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, mine, MPI_SUM);
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    outcome.reason = mpi::first_text(control, halo.first_wrong);
    if (outcome.reason) outcome.status = Status::failed;
    outcome.batch = measurement.batch;
    outcome.steady_samples = measurement.steady_samples;
    outcome.stopped_because = measurement.cut_by_time ? "time" : "samples";
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const MPI_Comm control = context.session.control();
    const Grid grid = grid_of(context.session.size());
    std::unique_ptr<Halo> halo;
    std::optional<std::string> failure;
    try {
        halo = std::make_unique<Halo>(config, grid, context.session.rank(), mix(context.seed, context.cell));
    } catch (const std::bad_alloc&) {
        failure = "no memory for a box of " + std::to_string(config.box.array_bytes()) + " B on rank " +
                  std::to_string(context.session.rank());
    }
    if (const auto reason = mpi::first_text(control, failure)) {
        Outcome skipped;
        skipped.status = Status::skipped;
        skipped.reason = *reason;
        return skipped;
    }
    record_grid(context, grid, halo->neighbours());
    Measurement measurement(context, config, *halo);
    measure(measurement, *halo, config.validate);
    return finish(context, *halo, measurement);
}

void derive(const Assignment& assignment, std::optional<int>, JsonObject& to) {
    const Box box = configure(assignment).box;
    std::array<std::string, 3> faces;
    for (int d = 0; d < 3; ++d) faces[static_cast<std::size_t>(d)] = std::to_string(box.face_bytes(d));
    to.raw("face_bytes", json_array(faces)).integer("array_bytes", box.array_bytes());
}

/// Of each steady sample the longest of all ranks.
std::vector<double> exchanges_us(const CellNumbers& numbers) {
    std::map<std::uint64_t, double> longest_us;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady) continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            double& longest = longest_us[block.header.seq0 + i];
            longest =
                std::max(longest, static_cast<double>(block.durations_ns[i]) / (1e3 * block.header.batch));
        }
    }
    std::vector<double> times;
    for (const auto& [sample, time_us] : longest_us) times.push_back(time_us);
    return times;
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    return {{"Box", "Exchange(us)"}, assignment.integer("box_x"), {median(exchanges_us(numbers))}};
}

}  // namespace

const Experiment experiment{
    .name = "exchange",
    .summary = "neighbours in a grid of ranks exchange the faces of their boxes, all at once",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "box_x",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment&, std::optional<int>) { return std::optional<std::string>{}; },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
};

}  // namespace slowpath::exchange
