// SPDX-License-Identifier: Apache-2.0
#include "cannon/timeline.hpp"

#include <algorithm>
#include <array>

namespace slowpath::cannon {

double interval_cost_ns() {
    constexpr int batches = 31, batch = 200;
    Timeline timeline(batch);
    std::array<double, batches> costs_ns{};
    const MonotonicClock clock{};
    for (double& cost_ns : costs_ns) {
        timeline.clear();
        const std::int64_t begin_ns = clock.now_ns();
        for (int i = 0; i < batch; ++i) timeline.timed(Part::dgemm, i, [] {});
        cost_ns = static_cast<double>(clock.now_ns() - begin_ns) / batch;
    }
    std::nth_element(costs_ns.begin(), costs_ns.begin() + batches / 2, costs_ns.end());
    return costs_ns[batches / 2];
}

}  // namespace slowpath::cannon
