// SPDX-License-Identifier: Apache-2.0
/// What a tick is: the same moments by all clocks.
///
/// What recording one call costs here, by the recorder's own code on memory of its own.
#pragma once

#include <cstdint>

#include "watch/ticks.hpp"

namespace slowpath::watch {

struct Anchor {
    std::uint64_t ticks = 0;
    std::int64_t monotonic_ns = 0;
    std::int64_t realtime_ns = 0;
};

/// Now.
Anchor read_anchor();

/// When the library was loaded.
const Anchor& load_anchor();

/// How long a tick is, from two anchors at least 1 ms apart: waits until they are.
void measure_ticks();

/// Valid after measure_ticks().
extern constinit double ns_per_tick;

inline std::uint64_t duration_ns(std::uint64_t duration_ticks) {
    return static_cast<std::uint64_t>(static_cast<double>(duration_ticks) * ns_per_tick);
}

struct Observed;

/// What lies between two readings of the clock with nothing between them.
extern constinit std::uint64_t read_ticks;

/// What a call costs is taken to be usual until some of the program's own are measured.
void begin_costs();
/// Of one call in 61 the wrapper measures what it took beside the call itself.
void note_own_cost(const Observed& call, std::uint64_t ticks);

}  // namespace slowpath::watch
