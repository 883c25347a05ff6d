// SPDX-License-Identifier: Apache-2.0
#include "watch/clock.hpp"

#include <time.h>

#include <algorithm>

#include "watch/lanes.hpp"
#include "watch/library.hpp"
#include "watch/observe.hpp"
#include "watch/sites.hpp"
#include "watch/streams.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {

constinit double ns_per_tick = 1.0;

namespace {

constinit Anchor loaded{};

std::int64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

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
        const std::int64_t realtime = realtime_ns();
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

constexpr std::uint32_t blocks = 9, block_calls = 128, trial_calls = blocks * block_calls;

/// A lane and its part of a record that is no file. Events have fresh pages, as the record's have.
struct Trial {
    Lane lane;
    layout::Lane row;
    layout::Current current;
    layout::SectionRow profile_table, events_table;
    layout::Profile profile[4];
    layout::Event events[trial_calls];
    WindowRun runs[trial_calls];
};

void set_up(Trial& trial) {
    trial.profile_table.capacity = 4;
    trial.events_table.capacity = trial_calls;
    Lane& lane = trial.lane;
    lane.row = &trial.row;
    lane.current = &trial.current;
    lane.number = not_in_record;
    lane.profile = {trial.profile, &trial.profile_table};
    lane.events = {trial.events, &trial.events_table};
    lane.runs = trial.runs;
}

/// Every second one is like the one before it (repeated.hpp); of a busy thread all are.
void send_once(const void* place, std::uint32_t number) {
    const Word tag = number % 2 == 0 ? 0 : number;
    Word arguments[] = {reinterpret_cast<Word>(place), 0, library().datatype_null, 0, tag,
                        library().comm_world};
    Observed call{calls::MPI_Send, arguments, place, place};
    Scratch* const scratch = before(call);
    start_clock(call);
    stop_clock(call);
    after(call, scratch);
}

/// Median over blocks.
std::uint32_t call_ns(Trial& trial, std::uint32_t step) {
    std::uint64_t took[blocks];
    for (std::uint64_t& block : took) {
        const std::uint64_t since = now_ticks();
        for (std::uint32_t call = 0; call < block_calls; ++call) send_once(&trial, call * step);
        block = now_ticks() - since;
    }
    std::nth_element(took, took + blocks / 2, took + blocks);
    const std::uint64_t cost_ns = duration_ns(took[blocks / 2]) / block_calls;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(cost_ns, 1, 1'000'000));
}

}  // namespace

CallCosts measure_call_costs() {
    Trial* const trial = map_rows<Trial>(1);
    if (trial == nullptr) return {};
    set_up(*trial);
    Lane* const own = lend_lane(&trial->lane);
    know_place(trial->lane, trial, trial);
    CallCosts costs;
    costs.whole_ns = call_ns(*trial, 1);
    trial->lane.is_busy = true;
    trial->lane.keeps_window = false;
    trial->lane.window_end_ticks = UINT64_MAX;
    costs.thinned_ns = call_ns(*trial, 0);
    lend_lane(own);
    sections().calls[calls::MPI_Send].calls = 0;
    begin_streams();
    unmap_rows(trial, 1);
    return costs;
}

}  // namespace slowpath::watch
