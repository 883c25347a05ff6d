// SPDX-License-Identifier: Apache-2.0
#include "p2p/p2p.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>

#include "memory/cache.hpp"
#include "mpi/agree.hpp"
#include "mpi/transfer.hpp"
#include "p2p/cell_facts.hpp"
#include "p2p/device.hpp"
#include "p2p/init.hpp"
#include "p2p/patterns.hpp"
#include "p2p/queue.hpp"
#include "p2p/tabulate.hpp"

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

}  // namespace slowpath::p2p
