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

/// Of `before`, `after` and two readings of the clock, of a send without a buffer: with its event, and on
/// average of those of which one in 16 is recorded. 0: no memory to try it on.
struct CallCosts {
    std::uint32_t whole_ns = 0;
    std::uint32_t thinned_ns = 0;
};

/// Between the record's opening and the program's first call: the recorder is given sends of its own making,
/// and nothing of them stays. MPI is asked nothing.
CallCosts measure_call_costs();

}  // namespace slowpath::watch
