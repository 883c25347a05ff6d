// SPDX-License-Identifier: Apache-2.0
#include "p2p/p2p.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <map>

#include "core/text_table.hpp"
#include "memory/cache.hpp"
#include "mpi/together.hpp"
#include "mpi/transfer.hpp"
#include "p2p/device.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/init.hpp"
#include "p2p/one_way.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

namespace {

Outcome skipped(std::string reason) {
    Outcome outcome;
    outcome.status = Status::skipped;
    outcome.reason = std::move(reason);
    return outcome;
}

/// What keeps this rank from running the cell; known before anything is allocated.
std::optional<std::string> obstacle(const Context& context, const Config& config) {
    const int size = context.session.size();
    if (const std::optional<std::string> reason = too_few_ranks(config, size)) return reason;
    const std::int64_t longest = std::max(config.message_bytes, config.other_bytes.value_or(0));
    if (longest > INT_MAX && !mpi::has_large_counts())
        return "message_bytes " + std::to_string(longest) + " is over " + std::to_string(INT_MAX) +
               ", and this MPI library has no MPI_Send_c (MPI-4.0)";
    if (config.threads > 1 && context.session.thread_levels().provided != "multiple")
        return "threads=" + std::to_string(config.threads) +
               " needs MPI_THREAD_MULTIPLE, and MPI was started with " +
               context.session.thread_levels().provided + "; set SLOWPATH_THREAD_LEVEL=multiple";
    if (config.is_partitioned() && !has_partitioned())
        return "requests=partitioned: this MPI library has no MPI_Psend_init (MPI-4.0)";
    const Roles roles = roles_of(config, context.session.rank(), size);
    if (!roles.side) return std::nullopt;
    const SideConfig& side = config.side(*roles.side);
    if (const std::optional<std::string> reason = memory::unavailable(side.kind))
        return "memory=" + std::string(memory::name(side.kind)) + ": " + *reason;
    if (side.cache == Cache::cold && !memory::can_flush())
        return "cache=cold: this program throws nothing out of the caches of this kind of processor";
    return device_obstacle(side);
}

Steps steps_of(Endpoint& endpoint) {
    switch (endpoint.config().pattern) {
        case Pattern::one_way:
            return one_way(endpoint);
        case Pattern::ping_pong:
            return ping_pong(endpoint);
        case Pattern::windowed:
            return windowed(endpoint);
        case Pattern::overlap:
            return overlap(endpoint);
        case Pattern::polling:
            return polling(endpoint);
    }
    throw std::logic_error("unknown pattern");
}

/// Numbers of a message's content within one allocation.
enum Number : std::uint64_t { timed = 0, check = 1 };

/// One message with new content, so that what came earlier can't stand in for it.
void check_fresh_content(Endpoint& endpoint, const Steps& steps, Side from) {
    endpoint.prepare(check, from);
    steps.check_only(from);
    endpoint.compare(check, from, "in a message after the timed ones");
}

/// @param act Takes a side that sends; called for each direction of each of the live buffers, which is chosen
/// then.
template <class Act>
void for_each_buffer(Endpoint& endpoint, Act&& act) {
    for (std::int64_t i = 0; i < endpoint.config().live_buffers; ++i) {
        endpoint.choose(i);
        for (const Side from : endpoint.config().directions()) act(from);
    }
}

void record_all(Endpoint& endpoint) {
    for (std::int64_t i = 0; i < endpoint.config().live_buffers; ++i) {
        endpoint.choose(i);
        endpoint.record_allocations();
    }
}

/// One set of fresh buffers, from its first messages to its last.
void run_set(Endpoint& endpoint, const Steps& steps) {
    const Config& config = endpoint.config();
    // Filling writes to memory that was to be left untouched, and what was not filled can't be compared.
    const bool written = config.side(*endpoint.roles().side).is_written();
    const bool check_timed = config.validate && config.writes_both();
    const auto compare_timed = [&](const char* when) {
        if (check_timed) for_each_buffer(endpoint, [&](Side from) { endpoint.compare(timed, from, when); });
    };
    if (config.validate && written)
        for_each_buffer(endpoint, [&](Side from) { endpoint.prepare(timed, from); });
    if (written) record_all(endpoint);
    for (const std::size_t buffer : endpoint.order()) {
        endpoint.choose(static_cast<std::int64_t>(buffer));
        steps.first();
    }
    compare_timed("after the first message");
    endpoint.choose(static_cast<std::int64_t>(endpoint.order().front()));
    steps.rest();
    compare_timed("after the last message");
    if (!written) record_all(endpoint);
    if (config.validate)
        for_each_buffer(endpoint, [&](Side from) { check_fresh_content(endpoint, steps, from); });
}

/// Collective.  @return Why a set could not be had.
std::optional<std::string> run_sets(Endpoint& endpoint) {
    const Steps steps = steps_of(endpoint);
    for (std::int64_t set = 0; set < endpoint.config().allocations; ++set) {
        if (const auto reason = mpi::first_text(endpoint.context().session.control(), endpoint.renew(set)))
            return "allocation " + std::to_string(set) + ": " + *reason;
        if (endpoint.roles().side)
            run_set(endpoint, steps);
        else
            stand_by(endpoint.config());
    }
    return std::nullopt;
}

/// Collective: what the ranks found, put together.
Outcome finish(Context& context, const Config& config, const Endpoint& endpoint) {
    const MPI_Comm control = context.session.control();
    Outcome outcome;
    const std::array mine{endpoint.compared_bytes, endpoint.wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, mine, MPI_SUM);
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    outcome.reason = mpi::first_text(control, endpoint.first_wrong);
    if (outcome.reason) outcome.status = Status::failed;
    outcome.batch = endpoint.batch == 0 ? 1 : endpoint.batch;
    outcome.steady_samples = endpoint.steady_samples;
    if (config.pattern != Pattern::one_way)
        outcome.stopped_because = endpoint.cut_by_time ? "time" : "samples";
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const MPI_Comm control = context.session.control();
    if (const auto reason = mpi::first_text(control, obstacle(context, config))) return skipped(*reason);
    Endpoint endpoint(context, config);
    if (endpoint.roles().side) record_gpu(context, config.side(*endpoint.roles().side));
    InitExchange init(endpoint);
    if (const auto reason = mpi::first_text(control, init.failure())) return skipped(*reason);
    if (config.packs())
        if (const auto reason = mpi::first_text(control, endpoint.allocate_encoding()))
            return skipped(*reason);
    init.run();
    Queue queue(endpoint);
    queue.fill();
    const auto reason = run_sets(endpoint);
    queue.drain();
    return reason ? skipped(*reason) : finish(context, config, endpoint);
}

}  // namespace

const Experiment experiment{
    .name = "p2p",
    .summary = "point-to-point messages: the first one from fresh memory, and the later ones",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "message_bytes",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = known_obstacle,
    .yields = yields,
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
    .route = route,
};

namespace {

/// Samples of a phase of one rank, divided by the operations in each; us.
std::vector<double> times_us(const CellNumbers& numbers, Phase phase, std::uint32_t rank, double parts,
                             std::uint64_t part = 0) {
    std::vector<double> times;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.rank != rank || block.header.part != part) continue;
        for (const std::int64_t duration_ns : block.durations_ns)
            times.push_back(static_cast<double>(duration_ns) / (1e3 * parts * block.header.batch));
    }
    return times;
}

/// Receive end - send start, which needs one clock; us.
std::vector<double> one_way_us(const CellNumbers& numbers, Phase phase, std::uint32_t from) {
    std::vector<std::int64_t> begins_ns, ends_ns;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != length_part::message) continue;
        const bool sender = block.header.rank == from;
        for (std::size_t i = 0; i < block.starts_ns.size(); ++i) {
            const std::int64_t begin_ns = block.header.t0_ns + block.starts_ns[i];
            if (sender)
                begins_ns.push_back(begin_ns);
            else
                ends_ns.push_back(begin_ns + block.durations_ns[i]);
        }
    }
    std::vector<double> times;
    for (std::size_t i = 0; i < std::min(begins_ns.size(), ends_ns.size()); ++i)
        times.push_back(static_cast<double>(ends_ns[i] - begins_ns[i]) / 1e3);
    return times;
}

/// Of a pattern of one pair.
std::uint32_t rank_of(Side side, const Config& config, const CellNumbers& numbers) {
    const auto [sender, receiver] = ends_of(config, static_cast<int>(numbers.size));
    return static_cast<std::uint32_t>(side == Side::sender ? sender : receiver);
}

TableRow one_way_row(const Config& config, const CellNumbers& numbers) {
    const std::uint32_t from = rank_of(Side::sender, config, numbers);
    if (config.barrier_inside)
        return {{"Size", "First send+barrier(us)", "Later send+barrier(us)"},
                config.message_bytes,
                {median(times_us(numbers, Phase::first, from, 1)),
                 median(times_us(numbers, Phase::steady, from, 1))}};
    if (numbers.one_node && config.posted == Posted::together)
        return {{"Size", "First one-way (us)", "Later one-way (us)"},
                config.message_bytes,
                {median(one_way_us(numbers, Phase::first, from)),
                 median(one_way_us(numbers, Phase::steady, from))}};
    const std::uint32_t last = rank_of(Side::receiver, config, numbers);
    return {{"Size", "First receive (us)", "Later receive (us)"},
            config.message_bytes,
            {median(times_us(numbers, Phase::first, last, 1)),
             median(times_us(numbers, Phase::steady, last, 1))}};
}

/// Messages of all pairs over the longest of their samples, sample by sample; 1/s.
std::vector<double> message_rates_per_s(const Config& config, const CellNumbers& numbers) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> longest_ns;
    double batch = 1;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady) continue;
        batch = block.header.batch;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            std::int64_t& longest = longest_ns[{block.header.allocation, block.header.seq0 + i}];
            longest = std::max(longest, block.durations_ns[i]);
        }
    }
    const double messages = static_cast<double>(config.pairs * config.window_messages()) * batch;
    std::vector<double> rates;
    for (const auto& [sample, duration_ns] : longest_ns)
        if (duration_ns > 0) rates.push_back(messages / (1e-9 * static_cast<double>(duration_ns)));
    return rates;
}

TableRow windowed_row(const Config& config, const CellNumbers& numbers) {
    const std::optional<double> rate = median(message_rates_per_s(config, numbers));
    std::optional<double> megabytes_per_s;
    if (rate) megabytes_per_s = *rate * static_cast<double>(config.message_bytes) / 1e6;
    return {{"Size", "Bandwidth (MB/s)", "Messages/s"}, config.message_bytes, {megabytes_per_s, rate}};
}

TableRow polling_row(const Config& config, const CellNumbers& numbers) {
    const std::uint32_t who = rank_of(Side::receiver, config, numbers);
    return {{"Size", "Poll (us)"}, config.message_bytes, {median(times_us(numbers, Phase::steady, who, 1))}};
}

/// Rank 0's; the metrics are those of the slower end (docs/reference/metrics.md).
TableRow overlap_row(const Config& config, const CellNumbers& numbers) {
    const auto part = [&](std::uint64_t number) {
        return median(times_us(numbers, Phase::steady, 0, 1, number));
    };
    return {{"Size", "Communicate(us)", "Compute(us)", "Both(us)"},
            config.message_bytes,
            {part(overlap_part::communication), part(overlap_part::computation), part(overlap_part::both)}};
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    if (config.pattern == Pattern::one_way) return one_way_row(config, numbers);
    if (config.pattern == Pattern::windowed) return windowed_row(config, numbers);
    if (config.pattern == Pattern::polling) return polling_row(config, numbers);
    if (config.pattern == Pattern::overlap) return overlap_row(config, numbers);
    const std::uint32_t from = rank_of(Side::sender, config, numbers);
    return {
        {"Size", "Latency (us)"}, config.message_bytes, {median(times_us(numbers, Phase::steady, from, 2))}};
}

namespace {

std::string too_few(const std::string& parameter, std::int64_t needed, int ranks) {
    return parameter + " needs " + std::to_string(needed) + " ranks, the job has " + std::to_string(ranks);
}

/// Saturates, since lengths up to 2^63 - 1 are valid.
std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t made = 0;
    return __builtin_mul_overflow(a, b, &made) ? INT64_MAX : made;
}

/// [sender, receiver].
template <class Bytes>
std::string both_sides(Bytes&& bytes) {
    const std::array<std::string, 2> items{std::to_string(bytes(Side::sender)),
                                           std::to_string(bytes(Side::receiver))};
    return json_array(items);
}

}  // namespace

std::optional<std::string> too_few_ranks(const Config& config, int ranks) {
    if (config.pattern == Pattern::windowed && 2 * config.pairs > ranks)
        return too_few("pairs=" + std::to_string(config.pairs), 2 * config.pairs, ranks);
    // Open MPI's first partitioned message waits for all ranks of MPI_COMM_WORLD.
    if (config.is_partitioned() && 2 * config.pairs < ranks)
        return "requests=partitioned needs every rank in a pair: pairs=" + std::to_string(config.pairs) +
               ", the job has " + std::to_string(ranks) + " ranks";
    if (config.pattern != Pattern::windowed && config.peer && *config.peer >= ranks)
        return too_few("peer=" + std::to_string(*config.peer), *config.peer + 1, ranks);
    return std::nullopt;
}

std::optional<std::string> known_obstacle(const Assignment& assignment, std::optional<int> ranks) {
    return ranks ? too_few_ranks(configure(assignment), *ranks) : std::nullopt;
}

bool yields(const Assignment& assignment, std::string_view metric) {
    const Config config = configure(assignment);
    if (config.pattern != Pattern::one_way) return true;
    if (config.barrier_inside) return metric == "send_barrier_s";
    if (config.posted != Posted::together) return metric == "receive_s";
    return metric != "send_barrier_s";
}

void derive(const Assignment& assignment, std::optional<int>, JsonObject& to) {
    const Config config = configure(assignment);
    const auto held = static_cast<std::int64_t>(config.directions().size()) * config.live_buffers;
    const Layout& longest = config.in_blocks() ? config.in_blocks()->layout : config.shapes[0].layout;
    to.integer("blocks", longest.blocks).integer("extent_bytes", longest.extent_bytes());
    to.raw("span_bytes", both_sides([&](Side side) { return config.span_bytes(side); }));
    to.raw("buffer_bytes", both_sides([&](Side side) { return config.side(side).buffer_bytes; }));
    to.raw("allocation_bytes", both_sides([&](Side side) { return config.side(side).allocation_bytes(); }));
    to.raw("held_bytes",
           both_sides([&](Side side) { return product(held, config.side(side).allocation_bytes()); }));
}

std::optional<Route> route(const Assignment& assignment, int size) {
    const Config config = configure(assignment);
    const bool alone = config.pattern == Pattern::ping_pong || config.pattern == Pattern::one_way;
    if (too_few_ranks(config, size) || !alone || config.posted != Posted::together || config.barrier_inside)
        return std::nullopt;
    const SideConfig &from = config.side(Side::sender), &to = config.side(Side::receiver);
    if (from.kind == memory::Kind::managed || to.kind == memory::Kind::managed) return std::nullopt;
    // Between processors the direction makes no difference, and one of the two is measured.
    std::array<int, 2> ends = ends_of(config, size);
    if (!from.is_on_gpu() && !to.is_on_gpu()) std::sort(ends.begin(), ends.end());
    return Route{.from = ends[0],
                 .to = ends[1],
                 .bytes = config.message_bytes,
                 .from_gpu = from.is_on_gpu(),
                 .to_gpu = to.is_on_gpu(),
                 .from_device = from.device,
                 .to_device = to.device};
}

}  // namespace slowpath::p2p
