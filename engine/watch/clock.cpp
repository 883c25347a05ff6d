// SPDX-License-Identifier: Apache-2.0
#include "watch/clock.hpp"

#include <algorithm>

#include "watch/file.hpp"
#include "watch/lanes.hpp"

namespace slowpath::watch {

constinit double ns_per_tick = 1.0;
constinit std::uint64_t read_ticks = 0;

namespace {

constinit Anchor loaded{};

// The constructor that chooses the clock has a number: it runs before.
[[gnu::constructor]] void note_load() {
    loaded = read_anchor();
}

}  // namespace

Anchor read_anchor() {
    // The tightest of three: an interrupt between two readings would shift them.
    Anchor best{};
    std::uint64_t least = UINT64_MAX;
    for (int attempt = 0; attempt < 3; ++attempt) {
        const std::uint64_t before = now_ticks();
        const auto monotonic = static_cast<std::int64_t>(monotonic_ns());
        const std::uint64_t between = now_ticks();
        const std::int64_t realtime = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
        const std::uint64_t took = now_ticks() - before;
        if (took >= least) continue;
        least = took;
        best = {before + (between - before) / 2, monotonic, realtime};
        if (ticks_kind == TicksKind::monotonic_ns) best.ticks = static_cast<std::uint64_t>(monotonic);
    }
    return best;
}

const Anchor& load_anchor() {
    return loaded;
}

void measure_ticks() {
    if (ticks_kind == TicksKind::monotonic_ns) return;
    if (loaded.ticks == 0) loaded = read_anchor();
    constexpr std::int64_t least_ns = 1'000'000;
    Anchor now = read_anchor();
    while (now.monotonic_ns - loaded.monotonic_ns < least_ns) now = read_anchor();
    ns_per_tick = static_cast<double>(now.monotonic_ns - loaded.monotonic_ns) /
                  static_cast<double>(now.ticks - loaded.ticks);
}

namespace {

void set_cost(std::uint32_t& cost_ns, const OwnCost& own) {
    constexpr std::uint64_t enough = 8;
    if (own.calls >= enough) cost_ns = static_cast<std::uint32_t>(duration_ns(own.ticks) / own.calls);
}

}  // namespace

void begin_costs() {
    constexpr std::uint32_t usual_ns = 60, usual_thinned_ns = 10;
    header().call_cost_ns = usual_ns;
    header().thinned_call_cost_ns = usual_thinned_ns;
    read_ticks = UINT64_MAX;
    for (int attempt = 0; attempt < 16; ++attempt) {
        const std::uint64_t since = now_ticks();
        read_ticks = std::min(read_ticks, now_ticks() - since);
    }
}

void note_own_cost(const Observed& call, std::uint64_t ticks) {
    // More: the thread lost its core, or what took so long is counted as such (Lane::own_ticks).
    constexpr std::uint64_t most_ns = 100'000;
    if (recording == 0) return;
    Lane& lane = current_lane();
    if (lane.is_shared) return;
    if (handles_many(call.call, call.arguments)) lane.row->own_ticks += ticks;
    if (handles_many(call.call, call.arguments) || duration_ns(ticks) > most_ns) return;
    OwnCost& own = lane.own_cost[call.is_thinned ? 1 : 0];
    own.ticks += ticks - std::min(ticks, 2 * read_ticks);
    ++own.calls;
    if (lane.number != 0) return;
    set_cost(header().call_cost_ns, lane.own_cost[0]);
    set_cost(header().thinned_call_cost_ns, lane.own_cost[1]);
}

}  // namespace slowpath::watch
