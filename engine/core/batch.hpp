// SPDX-License-Identifier: Apache-2.0
/// How many back-to-back operations make one sample, and how many samples fit in the time given.
#pragma once

#include <cstdint>
#include <span>

#include "core/calibration.hpp"

namespace slowpath {

inline constexpr std::uint32_t largest_batch = 1U << 20;

/// Smallest power of two k with k * operation_ns >= max(100 quanta, 50 overheads): the step of the clock and
/// the cost of reading it stay below 1 % and 2 % of a sample.
/// @param operation_ns Time of one operation, ns; below 1 ns counts as 1 ns.  @return 1 to largest_batch.
std::uint32_t batch_size(double operation_ns, const Calibration& calibration);

/// Mean of the central half: right where the median of a coarse clock is a multiple of its step, and blind to
/// rare interruptions.  @param samples_ns Any order, at least one.  @return ns.
double central_mean_ns(std::span<const std::int64_t> samples_ns);

/// Mean of the fastest quarter: what an operation takes when nothing disturbs it, even if most were
/// disturbed.
/// @param samples_ns Any order, at least one.  @return ns.
double fastest_quarter_ns(std::span<const std::int64_t> samples_ns);

struct SampleBudget {
    std::int64_t samples;
    bool cut_by_time;  ///< fewer than asked because of the time limit
};

/// @param sample_ns Expected time of one sample, ns.  @param most As asked, >= 1.
/// @return min(most, max(8, limit_s / sample)).
SampleBudget sample_budget(double sample_ns, double limit_s, std::int64_t most);

}  // namespace slowpath
