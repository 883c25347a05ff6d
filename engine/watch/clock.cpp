// SPDX-License-Identifier: Apache-2.0
#include "watch/clock.hpp"

#include <time.h>

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

}  // namespace slowpath::watch
