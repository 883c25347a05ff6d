// SPDX-License-Identifier: Apache-2.0
#include "cannon/cannon.hpp"

#include <algorithm>

#include "cannon/blas.hpp"
#include "cannon/contest.hpp"
#include "mpi/agree.hpp"

namespace slowpath::cannon {
namespace {

Layout layout_of(const Config& config, int ranks, int rank) {
    return config.ring ? ring(config.n, ranks, rank) : square_as_possible(config.n, ranks, rank);
}

/// Each panel has the same width; nullopt: so it has.
std::optional<std::string> no_whole_panels(const Layout& layout) {
    const int steps = layout.steps();
    if (layout.n % steps == 0) return std::nullopt;
    const std::int64_t nearest = std::max<std::int64_t>(1, (layout.n + steps / 2) / steps) * steps;
    return "n=" + std::to_string(layout.n) + " is no multiple of the " + std::to_string(steps) +
           " steps of " + std::to_string(layout.rows) + " x " + std::to_string(layout.columns) +
           " ranks; take n=" + std::to_string(nearest);
}

std::optional<std::string> known_obstacle(const Assignment& assignment, std::optional<int> ranks) {
    const Config config = configure(assignment);
    return ranks ? no_whole_panels(layout_of(config, *ranks, 0)) : std::nullopt;
}

/// What keeps all variants of a cell from running; local.
std::optional<std::string> obstacle(const Config& config, const Layout& layout) {
    if (const auto reason = no_whole_panels(layout)) return reason;
    if (config.kernel->loop != nullptr) return std::nullopt;
    try {
        Blas::loaded();
    } catch (const std::exception& error) {
        return error.what();
    }
    return std::nullopt;
}

void run_together(Context& context, std::span<GroupMember> members) {
    const Config config = configure(*members.front().assignment);
    const Layout layout = layout_of(config, context.session.size(), context.session.rank());
    if (const auto reason = mpi::first_text(context.session.control(), obstacle(config, layout))) {
        for (GroupMember& member : members) {
            member.outcome.status = Status::skipped;
            member.outcome.reason = *reason;
        }
        return;
    }
    Contest(context, config, layout, members).run();
}

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Milliseconds of one part on rank 0, summed over each repetition; `repetitions` from part total.
std::optional<double> part_ms(const CellNumbers& numbers, Part part) {
    std::size_t repetitions = 0;
    const Block* found = nullptr;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady || block.header.rank != 0) continue;
        if (block.header.part == static_cast<std::uint64_t>(Part::total))
            repetitions = block.durations_ns.size();
        if (block.header.part == static_cast<std::uint64_t>(part)) found = &block;
    }
    if (found == nullptr || repetitions == 0) return std::nullopt;
    const std::size_t each = found->durations_ns.size() / repetitions;
    std::vector<double> sums(repetitions);
    for (std::size_t i = 0; i < repetitions * each; ++i)
        sums[i / each] += 1e-6 * static_cast<double>(found->durations_ns[i]);
    return median(sums);
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    const std::optional<double> total = part_ms(numbers, Part::total), dgemm = part_ms(numbers, Part::dgemm);
    std::optional<double> exposed_percent;
    if (total && dgemm && *total > 0) exposed_percent = 100 * (1 - *dgemm / *total);
    return {{"N", "Total (ms)", "dgemm (ms)", "Not dgemm (%)"}, config.n, {total, dgemm, exposed_percent}};
}

void validate(const Assignment& assignment) {
    configure(assignment);
}

void derive(const Assignment& assignment, std::optional<int> ranks, JsonObject& to) {
    if (!ranks) return;
    const Config config = configure(assignment);
    const Layout layout = layout_of(config, *ranks, 0);
    to.integer("rows", layout.rows).integer("columns", layout.columns).integer("steps", layout.steps());
    to.unsigned_integer("most_intervals", most_intervals(layout, config.piece));
}

}  // namespace

const Experiment experiment{
    .name = "cannon",
    .summary = "Cannon's algorithm in many communication styles: what hides behind the multiplication",
    .min_ranks = 1,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "n",
    .validate = validate,
    .obstacle = known_obstacle,
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = nullptr,
    .tabulate = tabulate,
    .interleaved_by = "variant",
    .run_together = run_together,
};

}  // namespace slowpath::cannon
