// SPDX-License-Identifier: Apache-2.0
/// A counted piece of work, timed again and again during a launch: what this machine takes for the same
/// thing, and how long it stalls by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace slowpath::yardstick {

/// Dependent steps in one sample: some 10 us, without memory, calls or messages.
inline constexpr std::int64_t fixed_work_steps = 8192;
/// Samples before the first cell, and again after the last one: 3 ms each.
inline constexpr std::int64_t fixed_work_at_ends = 300;
/// Samples between two cells: 0.1 ms.
inline constexpr std::int64_t fixed_work_between = 10;
/// Ranks of a large job that keep samples: these first ones, and as many last ones.
inline constexpr int fixed_work_ranks = 32;

/// Whether this rank keeps samples.
bool samples_fixed_work(int rank, int size);

class FixedWork {
  public:
    /// Time the work `samples` times, one right after the other.  Every sample is kept.
    void visit(std::int64_t samples);
    /// The line `fixed_work` for events.jsonl (docs/internals/record.md); empty without samples.
    std::string line(int rank) const;

  private:
    MonotonicClock clock_;
    std::vector<std::int64_t> begins_ns_, durations_ns_, visits_;
};

}  // namespace slowpath::yardstick
