// SPDX-License-Identifier: Apache-2.0
#include "first_use/first_use.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/text_table.hpp"
#include "first_use/uses.hpp"
#include "mpi/session.hpp"
#include "mpi/shared_release.hpp"
#include "mpi/together.hpp"

namespace slowpath::first_use {

namespace {

constexpr std::size_t most_parts = 3;

Outcome skipped(std::string reason) {
    Outcome outcome;
    outcome.status = Status::skipped;
    outcome.reason = std::move(reason);
    return outcome;
}

Outcome done(std::int64_t later) {
    Outcome outcome;
    outcome.steady_samples = later;
    outcome.stopped_because = "samples";
    return outcome;
}

/// Stations that the session has passed before any cell; once a process.
Outcome run_init(Context& context) {
    const mpi::InitTimes& at = context.session.times();
    const auto part = [&](std::uint64_t number, std::int64_t begin_ns, std::int64_t end_ns) {
        record_spans(context, Phase::first, number, 0, {{begin_ns, end_ns}});
    };
    // What lies between the two is the ladder of SLOWPATH_FIRST_PEERS, which is no part of a start.
    const std::int64_t between_ns = at.duplicate_begin_ns - at.initialised_ns;
    part(0, at.loaded_ns, at.split_end_ns - between_ns);
    part(1, at.loaded_ns - at.load_processor_ns, at.loaded_ns);
    part(2, at.loaded_ns, at.entered_ns);
    part(3, at.entered_ns, at.initialised_ns);
    part(4, at.duplicate_begin_ns, at.duplicate_end_ns);
    part(5, at.duplicate_end_ns, at.split_end_ns);
    return done(0);
}

/// Contacts are part 1, whole rounds of all peers part 0.
void record_contacts(Context& context, Phase phase, std::int64_t seq0,
                     const std::vector<mpi::Contact>& contacts) {
    std::vector<Span> spans;
    for (const mpi::Contact& one : contacts) spans.push_back({one.begin_ns, one.end_ns});
    record_spans(context, phase, 0, seq0, {{spans.front().begin_ns, spans.back().end_ns}});
    if (phase == Phase::first) record_spans(context, phase, 1, 0, spans);
}

Outcome run_peers(Context& context, const Config& config) {
    const std::optional<mpi::FirstPeers>& first = context.session.first_peers();
    if (!first || first->order != config.order)
        return skipped("connections are made once a process: order=" + config.order +
                       " needs a launch whose environment sets SLOWPATH_FIRST_PEERS=" + config.order);
    record_contacts(context, Phase::first, 0, first->contacts);
    const MPI_Comm control = context.session.control();
    mpi::SharedRelease release(control);
    for (std::int64_t use = 1; use < config.uses; ++use) {
        release.wait();
        record_contacts(context, Phase::steady, use, mpi::meet_in_order(control, config.order));
    }
    return done(config.uses - 1);
}

std::unique_ptr<Use> use_of(const Context& context, const Config& config) {
    switch (config.pattern) {
        case Pattern::communicator:
            return communicator_use(context, config);
        case Pattern::window:
        case Pattern::shared_window:
            return window_use(context, config);
        case Pattern::spawn:
            return spawn_use(context, config);
        case Pattern::collective:
        case Pattern::call:
            return call_use(context, config);
        case Pattern::init:
        case Pattern::peer:
            break;
    }
    return nullptr;
}

/// Of one phase: part 0, and the parts.
using Spans = std::array<std::vector<Span>, most_parts + 1>;
// The parts of uses that a pause precedes, and of what completes a use, where there are such.
constexpr std::size_t after_pause = 1, completion = 2;

/// @param number Of the first use, from 0.  @return Why the library refused; nothing is recorded then.
std::optional<std::string> measure(Context& context, mpi::SharedRelease& release, Use& use,
                                   const Config& config, Phase phase, std::int64_t number,
                                   std::int64_t uses) {
    const MonotonicClock clock = context.clock;
    Spans spans;
    KernelTotal kernel;
    const bool may_pause = phase == Phase::steady && config.pattern == Pattern::call && config.idle_s > 0;
    const std::int64_t pauses = may_pause ? config.pauses : 0;
    for (std::int64_t i = 0; i < uses + pauses; ++i) {
        // Among the others, so that both see the same machine.
        const bool is_paused = (i + 1) * pauses / (uses + pauses) > i * pauses / (uses + pauses);
        use.prepare();
        const std::int64_t end_ns = clock.now_ns() + (is_paused ? std::llround(config.idle_s * 1e9) : 0);
        while (clock.now_ns() < end_ns) {
        }
        Marks marks;
        release.wait();
        int rank = 0;
        if (config.after_call) mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
        const Witness before = read_witness();
        const int in_a_row = phase == Phase::first || is_paused ? 1 : use.in_a_row();
        for (int n = 0; n < in_a_row; ++n) {
            const std::int64_t begin_ns = clock.now_ns();
            const int code = use.use(marks);
            const std::int64_t end_ns = clock.now_ns();
            mpi::check(code, "the call of this pattern");
            const std::array<std::int64_t, most_parts + 1> ends{begin_ns, marks.first_ns, marks.second_ns,
                                                                end_ns};
            spans[is_paused ? after_pause : 0].push_back({begin_ns, end_ns});
            for (std::size_t part = 1; part <= static_cast<std::size_t>(use.parts()); ++part)
                spans[part].push_back({ends[part - 1], ends[part]});
        }
        if (!is_paused) kernel.add(before, read_witness());
        if (auto reason = use.refusal()) return reason;
        if (const auto ended = use.complete(); ended && !is_paused) spans[completion].push_back(*ended);
        use.finish();
    }
    record_spans(context, phase, 0, number, spans[0], kernel.total());
    for (std::size_t part = 1; part < spans.size(); ++part)
        record_spans(context, phase, part, number, spans[part]);
    return std::nullopt;
}

Outcome run_uses(Context& context, const Config& config) {
    const MPI_Comm control = context.session.control();
    const std::unique_ptr<Use> use = use_of(context, config);
    if (const auto reason = mpi::first_text(control, use->obstacle())) return skipped(*reason);
    mpi::SharedRelease release(control);
    context.calls.begin();
    if (const auto reason = measure(context, release, *use, config, Phase::first, 0, 1))
        return skipped(*reason);
    context.calls.end(Phase::first, 1);
    context.calls.begin();
    if (const auto reason = measure(context, release, *use, config, Phase::steady, 1, config.uses - 1))
        return skipped(*reason);
    context.calls.end(Phase::steady, config.uses - 1);
    Outcome outcome = done(config.uses - 1);
    const std::array mine{use->compared_bytes, use->wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, mine, MPI_SUM);
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    outcome.reason = mpi::first_text(control, use->first_wrong);
    if (outcome.reason) outcome.status = Status::failed;
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    if (config.pattern == Pattern::init) return run_init(context);
    return config.pattern == Pattern::peer ? run_peers(context, config) : run_uses(context, config);
}

/// Of each use the longest of all ranks, us.
std::vector<double> uses_us(const CellNumbers& numbers, Phase phase) {
    std::map<std::uint64_t, double> longest_us;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != 0) continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            double& longest = longest_us[block.header.seq0 + i];
            longest =
                std::max(longest, static_cast<double>(block.durations_ns[i]) / 1e3 / block.header.batch);
        }
    }
    std::vector<double> times;
    for (const auto& [use, time_us] : longest_us) times.push_back(time_us);
    return times;
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    return {{"Uses", "First(us)", "Later(us)"},
            assignment.integer("uses"),
            {median(uses_us(numbers, Phase::first)), median(uses_us(numbers, Phase::steady))}};
}

void derive(const Assignment& assignment, std::optional<int> ranks, JsonObject& to) {
    const Config config = configure(assignment);
    const bool of_windows = config.pattern == Pattern::window || config.pattern == Pattern::shared_window;
    if (of_windows && ranks) to.integer("memory_bytes", config.window_bytes * *ranks);
}

}  // namespace

const Experiment experiment{
    .name = "first_use",
    .summary =
        "what the first use of a part of MPI costs: its start, peers, communicators, collectives, windows, "
        "any call",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "uses",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment&, std::optional<int>) { return std::optional<std::string>{}; },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
};

Config configure(const Assignment& assignment) {
    const Config config{
        .pattern = assignment.chosen<Pattern>("pattern"),
        .order = assignment.text("order"),
        .communicator = assignment.chosen<Communicator>("communicator"),
        .made_by = assignment.chosen<MadeBy>("made_by"),
        .window = assignment.chosen<WindowKind>("window"),
        .memory = assignment.chosen<Memory>("memory"),
        .window_info = assignment.text("window_info"),
        .call = assignment.text(assignment.text("pattern") == "collective" ? "collective" : "call"),
        .request = assignment.text("request"),
        .source = assignment.chosen<Source>("source"),
        .datatype = assignment.chosen<Datatype>("datatype"),
        .blocks = assignment.integer("blocks"),
        .root = assignment.chosen<Root>("root"),
        .op = assignment.chosen<Op>("op"),
        .in_place = assignment.flag("in_place"),
        .pauses = assignment.integer("pauses"),
        .idle_s = assignment.seconds("idle_s"),
        .after_call = assignment.flag("after_call"),
        .message_bytes = assignment.integer("message_bytes"),
        .window_bytes = assignment.integer("window_bytes"),
        .processes = assignment.integer("processes"),
        .uses = assignment.integer("uses"),
        .validate = assignment.flag("validate"),
    };
    if (config.pattern == Pattern::window && config.window > WindowKind::create)
        throw UsageError("pattern=window makes windows of MPI_Win_allocate and MPI_Win_create");
    if (config.message_bytes % 8 != 0)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) + " is no multiple of 8");
    return config;
}

}  // namespace slowpath::first_use
