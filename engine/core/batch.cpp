// SPDX-License-Identifier: Apache-2.0
#include "core/batch.hpp"

#include <algorithm>
#include <vector>

namespace slowpath {

std::uint32_t batch_size(double operation_ns, const Calibration& calibration) {
    const double wanted_ns = std::max(100.0 * static_cast<double>(calibration.quantum_ns),
                                      50.0 * static_cast<double>(calibration.overhead_ns));
    const double each_ns = std::max(operation_ns, 1.0);
    std::uint32_t batch = 1;
    while (batch < largest_batch && batch * each_ns < wanted_ns) batch *= 2;
    return batch;
}

double central_mean_ns(std::span<const std::int64_t> samples_ns) {
    std::vector<std::int64_t> sorted(samples_ns.begin(), samples_ns.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t cut = sorted.size() / 4;
    double sum_ns = 0;
    for (std::size_t i = cut; i < sorted.size() - cut; ++i) sum_ns += static_cast<double>(sorted[i]);
    return sum_ns / static_cast<double>(sorted.size() - 2 * cut);
}

double fastest_quarter_ns(std::span<const std::int64_t> samples_ns) {
    std::vector<std::int64_t> sorted(samples_ns.begin(), samples_ns.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t kept = (sorted.size() + 3) / 4;
    double sum_ns = 0;
    for (std::size_t i = 0; i < kept; ++i) sum_ns += static_cast<double>(sorted[i]);
    return sum_ns / static_cast<double>(kept);
}

SampleBudget sample_budget(double sample_ns, double limit_s, std::int64_t most) {
    constexpr double fewest = 8;
    const double fitting = std::max(fewest, limit_s * 1e9 / std::max(sample_ns, 1.0));
    if (fitting >= static_cast<double>(most)) return {most, false};
    return {static_cast<std::int64_t>(fitting), true};
}

}  // namespace slowpath
