// SPDX-License-Identifier: Apache-2.0
#include "p2p/cell_facts.hpp"

#include <algorithm>
#include <array>

#include "p2p/roles.hpp"

namespace slowpath::p2p {
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
