// SPDX-License-Identifier: Apache-2.0
// A nonblocking collective, and a computation that takes about as long.  Each sample has three parts, one
// after the other, each begun by all ranks together: the call alone, the computation alone, and the
// computation between starting the call and waiting for it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/measurement.hpp"
#include "core/batch.hpp"
#include "core/work.hpp"
#include "mpi/check.hpp"

namespace slowpath::coll {
namespace {

constexpr std::int64_t fewest_samples = 8;
constexpr double parts_of_a_sample = 4;  // alone, computed, and at worst one after the other

}  // namespace

/// Steps of the computation on this rank, so that it lasts as long as the call on the slowest one: the lower
/// quartile of the warm-up's later half, since another process may have come between.
std::int64_t Measurement::overlap_steps() {
    const auto all = samples_.durations_ns();
    std::vector<std::int64_t> later(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    std::sort(later.begin(), later.end());
    const std::int64_t length_ns = highest(std::max<std::int64_t>(1, later[later.size() / 4]));
    meeting_.release.wait(false);
    return steps_lasting(static_cast<double>(length_ns), context_.clock);
}

void Measurement::time_overlap(Call& call, std::int64_t steps) {
    const MonotonicClock clock = context_.clock;
    const SampleBudget budget =
        sample_budget(parts_of_a_sample * sample_ns_, config_.time_limit_s, config_.samples);
    const std::int64_t most = decide(std::max(std::min(config_.samples, fewest_samples), budget.samples));
    Samples computation, both;
    begin_block(most);
    computation.start(static_cast<std::size_t>(most));
    both.start(static_cast<std::size_t>(most));
    const auto time_part = [&](Samples& samples, auto&& act) {
        meeting_.release.wait(false);
        const std::int64_t begin_ns = clock.now_ns();
        const int code = act();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "the collective");
        samples.add(begin_ns, end_ns);
    };
    for (std::int64_t i = 0; i < most; ++i) {
        time_all(call, 1);
        time_part(computation, [&] {
            compute(steps);
            return MPI_SUCCESS;
        });
        operands_.restore();
        time_part(both, [&] {
            if (const int code = call.begin(); code != MPI_SUCCESS) return code;
            compute(steps);
            return call.finish();
        });
    }
    end_block(Phase::steady);
    add_part(Phase::steady, part::computation, computation);
    add_part(Phase::steady, part::both, both);
    steady_samples = most;
    cut_by_time = budget.cut_by_time;
}

}  // namespace slowpath::coll
