// SPDX-License-Identifier: Apache-2.0
#include "core/work.hpp"

#include <algorithm>
#include <limits>

namespace slowpath {

void compute(std::int64_t steps) {
    // Knuth's MMIX generator: each step needs the one before it, and the compiler can't leave one out.
    std::uint64_t x = static_cast<std::uint64_t>(steps);
    for (std::int64_t i = 0; i < steps; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(x));
    }
}

std::int64_t steps_lasting(double length_ns, const MonotonicClock& clock) {
    constexpr std::int64_t tried = 1 << 16;
    std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 8; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        compute(tried);
        least_ns = std::min(least_ns, clock.now_ns() - begin_ns);
    }
    const double each_ns =
        static_cast<double>(std::max<std::int64_t>(least_ns, 1)) / static_cast<double>(tried);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(length_ns / each_ns));
}

}  // namespace slowpath
