// SPDX-License-Identifier: Apache-2.0
/// The quantile that stands for bursts under load (docs/results/put.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace slowpath::put {

/// An interruption only ever makes a burst longer.
inline constexpr double lower_quartile = 0.25;

/// Between the neighbouring order statistics, at (n - 1) share (Hyndman and Fan 1996, type 7).
/// @param samples_ns At least one.
inline double quantile_of(std::span<const std::int64_t> samples_ns, double share) {
    std::vector<std::int64_t> sorted(samples_ns.begin(), samples_ns.end());
    std::sort(sorted.begin(), sorted.end());
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, sorted.size() - 1);
    const double rest = place - static_cast<double>(below);
    return static_cast<double>(sorted[below]) + rest * static_cast<double>(sorted[above] - sorted[below]);
}

}  // namespace slowpath::put
