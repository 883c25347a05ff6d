// SPDX-License-Identifier: Apache-2.0
#include "coll/coll.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "coll/measurement.hpp"
#include "coll/team.hpp"
#include "core/pattern.hpp"
#include "core/text_table.hpp"
#include "mockups/process.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::coll {

namespace {

/// One call on all ranks, ns.
struct Ends {
    std::int64_t first_entry = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_entry = std::numeric_limits<std::int64_t>::min();
    std::int64_t last_exit = std::numeric_limits<std::int64_t>::min();
    std::int64_t longest = 0;
};

using Calls = std::map<std::pair<std::uint32_t, std::uint64_t>, Ends>;  ///< by allocation and number

Calls calls_of(const CellNumbers& numbers, Phase phase, std::uint64_t part = part::call) {
    Calls calls;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != part) continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            const std::int64_t entry = block.header.t0_ns + block.starts_ns[i];
            Ends& ends = calls[{block.header.allocation, block.header.seq0 + i}];
            ends.first_entry = std::min(ends.first_entry, entry);
            ends.last_entry = std::max(ends.last_entry, entry);
            ends.last_exit = std::max(ends.last_exit, entry + block.durations_ns[i]);
            ends.longest = std::max(ends.longest, block.durations_ns[i]);
        }
    }
    return calls;
}

template <class Time>
std::optional<double> median_us(const Calls& calls, Time&& time) {
    std::vector<double> times;
    for (const auto& [number, ends] : calls) times.push_back(static_cast<double>(time(ends)) / 1e3);
    return times.empty() ? std::nullopt : std::optional(median(times));
}

/// Of the slowest rank, as the metrics are.
TableRow overlap_row(const Assignment& assignment, const CellNumbers& numbers) {
    const auto longest_us = [&](std::uint64_t part) {
        return median_us(calls_of(numbers, Phase::steady, part), [](const Ends& one) { return one.longest; });
    };
    return {{"Bytes", "Communicate(us)", "Compute(us)", "Both(us)"},
            assignment.integer("message_bytes"),
            {longest_us(part::call), longest_us(part::computation), longest_us(part::both)}};
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    if (assignment.text("pattern") == "overlap") return overlap_row(assignment, numbers);
    Calls calls = calls_of(numbers, Phase::steady);
    if (calls.empty()) calls = calls_of(numbers, Phase::first);
    const auto work = median_us(calls, [](const Ends& one) { return one.last_exit - one.last_entry; });
    const auto span = median_us(calls, [](const Ends& one) { return one.last_exit - one.first_entry; });
    const auto own = median_us(calls, [](const Ends& one) { return one.longest; });
    // Entries and exits of several nodes are on several clocks.
    return {{"Bytes", "Work(us)", "Span(us)", "Own(us)"},
            assignment.integer("message_bytes"),
            {numbers.one_node ? work : std::nullopt, numbers.one_node ? span : std::nullopt, own}};
}

namespace {

Outcome ended(Status status, const std::string& reason) {
    Outcome outcome;
    outcome.status = status;
    outcome.reason = reason;
    return outcome;
}

/// Memory that is promised and then not there ends the job, so that cells that come near it are not begun.
std::optional<std::string> too_long(const Context& context, const Place& place) {
    constexpr double most_of_memory = 0.5;
    const double memory_bytes =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    int ranks = 0;
    mpi::check(MPI_Comm_size(mpi::Nodes::of(context.session.control()).node(), &ranks), "MPI_Comm_size");
    // Once sent, once received, once kept or expected; libraries and mock-ups copy them once more.
    const double rank_bytes =
        4.0 * static_cast<double>(std::max(sent_elements(place), received_elements(place)));
    if (rank_bytes * ranks < most_of_memory * memory_bytes) return std::nullopt;
    return "the buffers of the ranks of a node need about " +
           std::to_string(static_cast<std::int64_t>(rank_bytes * ranks / 1e9) + 1) +
           " GB, over half of its memory; take fewer ranks or shorter messages";
}

/// On each rank, before any of them calls; local.
std::optional<std::string> obstacle_here(const Context& context, const Config& config, const Team& team) {
    if (config.start == Start::persistent && !has_persistent())
        return "start=persistent: the library has no persistent collectives (MPI-4.0)";
    if (!team.calls()) return std::nullopt;
    Place place = team.place();
    place.count = config.message_bytes;  // in bytes from here on
    return too_long(context, place);
}

std::unique_ptr<Operands> operands_of(const Context& context, const Config& config, const Team& team,
                                      std::optional<std::string>& failure) {
    if (!team.calls() || failure) return nullptr;
    try {
        const std::uint64_t seed =
            mix(mix(context.seed, context.cell), static_cast<std::uint64_t>(team.part()));
        auto operands = std::make_unique<Operands>(config, team.place(), seed);
        if (config.by_library()) return operands;
        operands->use(MPI_COMM_WORLD);
        const mockups::Mockup* const mockup = mockups::find(config.collective, config.way);
        if (const char* const reason = mockup->obstacle(operands->arguments()))
            failure = "way=" + config.way + ": " + reason;
        return operands;
    } catch (const std::bad_alloc&) {
        failure = "no memory for the buffers of rank " + std::to_string(context.session.rank());
        return nullptr;
    }
}

/// What disturbed the release of the ranks (docs/internals/record.md).
void record_release(Context& context, const Measurement& mine, const Meeting& meeting, bool in_loop) {
    const std::vector<std::int64_t> late =
        mpi::reduce(meeting.callers, std::array{mine.late_starts}, MPI_SUM);
    if (context.session.rank() != 0) return;
    JsonObject event;
    event.integer("cell", context.cell);
    event.text("by", meeting.release.by_messages() ? "messages" : "shared memory");
    event.boolean("one_clock", meeting.release.one_clock());
    event.integer("calls", mine.calls).integer("late_ns", late_start_ns);
    meeting.release.by_messages() || in_loop ? event.null("late_starts")
                                             : event.integer("late_starts", late[0]);
    mine.together_ns ? event.integer("together_ns", *mine.together_ns) : event.null("together_ns");
    context.record.events += "release " + event.fields() + "\n";
}

/// Called by all ranks: what those that called found, put together.
Outcome finish(const Context& context, const Measurement* measurement,
               const std::optional<std::string>& failure) {
    const MPI_Comm control = context.session.control();
    const Judgement judgement = measurement != nullptr ? measurement->judgement : Judgement{};
    const std::vector<std::int64_t> all =
        mpi::reduce(control, std::array{judgement.compared_bytes, judgement.wrong_bytes}, MPI_SUM);
    // Rank 0 always calls.
    const std::array mine{measurement != nullptr ? measurement->steady_samples : 0,
                          std::int64_t{measurement != nullptr && measurement->cut_by_time}};
    const std::vector<std::int64_t> highest = mpi::reduce(control, mine, MPI_MAX);
    Outcome outcome;
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    outcome.reason = mpi::first_text(control, failure ? failure : judgement.first_wrong);
    if (outcome.reason) outcome.status = Status::failed;
    outcome.steady_samples = highest[0];
    if (highest[0] > 0) outcome.stopped_because = highest[1] != 0 ? "time" : "samples";
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const mpi::Session& session = context.session;
    if (const auto reason = obstacle(config, session.size())) return ended(Status::skipped, *reason);
    if (!config.by_library() && !mockups::begin())
        return ended(Status::skipped, "way=" + config.way + ": the MPI library makes no communicator for it");
    const int members = config.members.value_or(session.size());
    Meeting* const meeting = meeting_of(session.control(), members);
    Team team(config);
    std::optional<std::string> failure = obstacle_here(context, config, team);
    const std::unique_ptr<Operands> operands = operands_of(context, config, team, failure);
    if (const auto reason = mpi::first_text(session.control(), failure))
        return ended(Status::skipped, *reason);
    if (!team.calls()) {
        sleep_outside(session.control());
        return finish(context, nullptr, std::nullopt);
    }
    Measurement measurement(context, config, team, *operands, *meeting);
    failure = measurement.run();
    record_release(context, measurement, *meeting, config.in_loop());
    if (session.rank() == 0) wake_outside(session.control(), members);
    return finish(context, &measurement, failure);
}

void derive(const Assignment& assignment, std::optional<int>, JsonObject& to) {
    to.integer("elements", configure(assignment).count());
}

}  // namespace

const Experiment experiment{
    .name = "coll",
    .summary = "collectives of every kind, by the library or by other calls that do the same",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "message_bytes",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment& assignment, std::optional<int> ranks) -> std::optional<std::string> {
        return ranks ? obstacle(configure(assignment), *ranks) : std::nullopt;
    },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
};

}  // namespace slowpath::coll
