// SPDX-License-Identifier: Apache-2.0
// A collective as benchmarks time it: calls in a loop, with the library's own MPI_Barrier outside of the
// timed region or with nothing between them.  No rank waits for a deadline.
#include "coll/measurement.hpp"
#include "mpi/check.hpp"

namespace slowpath::coll {
namespace {

/// Then the ranks agree whether to go on; the call after that is one that all enter together.
constexpr std::int64_t calls_of_a_stretch = 32;

}  // namespace

std::int64_t Measurement::time_in_loop(Call& call, std::int64_t count, std::int64_t fewest, double limit_s) {
    const MonotonicClock clock = context_.clock;
    const MPI_Comm communicator = operands_.arguments().communicator;
    const std::int64_t enough_ns = clock.now_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    for (std::int64_t i = 0; i < count; ++i) {
        const bool agree = i % calls_of_a_stretch == 0;
        if (agree && meeting_.release.wait(i >= fewest && clock.now_ns() > enough_ns).enough) return i;
        operands_.restore();
        if (config_.pattern == Pattern::after_barrier) mpi::check(MPI_Barrier(communicator), "MPI_Barrier");
        const std::int64_t begin_ns = clock.now_ns();
        const int code = call.run();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "the collective");
        samples_.add(begin_ns, end_ns);
        ++sample_;
    }
    return count;
}

}  // namespace slowpath::coll
