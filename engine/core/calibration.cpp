// SPDX-License-Identifier: Apache-2.0
#include "core/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace slowpath {
namespace {

/// Neighbouring values, at most 1 ns apart: one multiple of the step, blurred by rounding to whole
/// nanoseconds.
struct Cluster {
    std::int64_t first_ns;
    std::int64_t last_ns;
    std::int64_t count;
    double centre_ns() const { return 0.5 * static_cast<double>(first_ns + last_ns); }
};

std::vector<Cluster> clusters_of(std::span<const std::int64_t> differences_ns) {
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t difference : differences_ns) ++counts[difference];
    // Rarer values come from interrupts and preemption and say nothing about the step.
    const auto frequent = std::max<std::int64_t>(1, static_cast<std::int64_t>(differences_ns.size()) / 1000);
    std::vector<Cluster> clusters;
    for (const auto& [value, count] : counts) {
        if (count < frequent) continue;
        if (!clusters.empty() && value - clusters.back().last_ns <= 1) {
            clusters.back().last_ns = value;
            clusters.back().count += count;
        } else {
            clusters.push_back({value, value, count});
        }
    }
    return clusters;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

std::int64_t quantum_from(std::span<const std::int64_t> differences_ns) {
    if (differences_ns.empty()) return 1;
    const std::vector<Cluster> clusters = clusters_of(differences_ns);
    const std::int64_t largest = *std::max_element(differences_ns.begin(), differences_ns.end());
    if (clusters.empty()) return 1;
    std::int64_t kept = 0, wide = 0;
    for (const Cluster& cluster : clusters) {
        kept += cluster.count;
        if (cluster.last_ns - cluster.first_ns > 2) wide += cluster.count;
    }
    if (2 * wide > kept) return 1;
    if (clusters.size() == 1)
        return std::max<std::int64_t>({1, clusters[0].last_ns ? clusters[0].last_ns : largest});
    std::vector<double> gaps_ns;
    for (std::size_t i = 1; i < clusters.size(); ++i)
        gaps_ns.push_back(clusters[i].centre_ns() - clusters[i - 1].centre_ns());
    return std::max<std::int64_t>(1, std::llround(median(std::move(gaps_ns))));
}

std::int64_t overhead_from(std::span<const std::int64_t> differences_ns) {
    constexpr std::size_t stretch = 1000;
    std::vector<double> means_ns;
    for (std::size_t begin = 0; begin + stretch <= differences_ns.size(); begin += stretch) {
        double sum_ns = 0;
        for (const std::int64_t difference : differences_ns.subspan(begin, stretch))
            sum_ns += static_cast<double>(difference);
        means_ns.push_back(sum_ns / stretch);
    }
    if (means_ns.empty()) return 1;
    return std::max<std::int64_t>(1, std::llround(median(std::move(means_ns))));
}

}  // namespace slowpath
