// SPDX-License-Identifier: Apache-2.0
#include "put/put.hpp"

#include <array>

#include "mpi/together.hpp"
#include "put/cell.hpp"
#include "put/parameters.hpp"
#include "put/payload.hpp"
#include "put/quantile.hpp"

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

void BlockWriter::begin() {
    context_.calls.begin();
    before_ = read_witness();
    begin_ns_ = context_.clock.now_ns();
}

void BlockWriter::end() {
    after_ = read_witness();
}

void BlockWriter::append(const Samples& samples, Phase phase, Part part, std::uint32_t batch,
                         std::int64_t first_sample) {
    // The synchronisation of a burst lies in the same stretch as its puts.
    if (part != Part::synchronisation)
        context_.calls.end(phase, static_cast<std::int64_t>(samples.size() * batch));
    if (samples.size() == 0) return;
    BlockHeader header;
    header.cell = context_.cell;
    header.launch = context_.launch;
    header.rank = static_cast<std::uint32_t>(context_.session.rank());
    header.phase = phase;
    header.batch = batch;
    header.allocation = static_cast<std::uint32_t>(part);
    header.t0_ns = begin_ns_;
    header.seq0 = static_cast<std::uint64_t>(first_sample);
    store_witness(header, before_, after_);
    append_block(context_.record.blocks, header, samples.durations_ns());
}

namespace {

/// Puts and their synchronisation; ns.
std::optional<double> time_per_put_ns(const CellNumbers& numbers, std::int64_t puts) {
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady ||
            block.header.allocation != static_cast<std::uint32_t>(Part::whole))
            continue;
        return quantile_of(block.durations_ns, lower_quartile) /
               (static_cast<double>(block.header.batch) * static_cast<double>(puts));
    }
    return std::nullopt;
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    const std::optional<double> each_ns = time_per_put_ns(numbers, config.puts);
    std::optional<double> rate_per_s, instructions;
    if (each_ns && *each_ns > 0) rate_per_s = 1e9 / *each_ns;
    if (const auto found = numbers.counts.find("instructions_per_put"); found != numbers.counts.end())
        instructions = found->second;
    return {{"Size", "Time per put (ns)", "Messages/s", "Instructions"},
            config.message_bytes,
            {each_ns, rate_per_s, instructions}};
}

}  // namespace slowpath::put
