// SPDX-License-Identifier: Apache-2.0
/// The origin's timed bursts: the first, warm-up, whole ones in batches, split ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "put/put.hpp"
#include "put/runner.hpp"

namespace slowpath::put {

class Origin {
  public:
    Origin(Context& context, const Config& config, const Pair& pair, Runner& runner);

    /// The very first burst on the window, in a block of its own.
    /// @return Why it failed: what the library can't do shows here.
    std::optional<std::string> first();
    /// All the others.  @throws EnvironmentFailure: a call failed that went well before.
    void rest();

    std::uint32_t batch = 1;
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;

  private:
    /// Time `samples` batches of whole bursts.
    void time_whole(std::int64_t samples, std::uint32_t bursts);
    /// Time the parts of `samples` bursts.
    void time_split(std::int64_t samples);
    void warm_up();
    void require(int code) const;
    double lower_quartile_ns(std::size_t skipped) const;

    Context& context_;
    const Config& config_;
    const Pair& pair_;
    Runner& runner_;
    BlockWriter blocks_;
    Samples whole_;
    Samples puts_;
    Samples synchronisation_;
    std::int64_t whole_bursts_seen_ = 0;  ///< samples of whole bursts so far
    double burst_ns_ = 1;
};

/// The target's part: it serves the bursts that the origin announces until there are no more.
/// @param busy_s It computes so long between its calls of MPI; 0: it waits in a call.
/// @throws EnvironmentFailure: a call failed.
void serve_target(const Pair& pair, Runner& runner, const MonotonicClock& clock, double busy_s);

/// Origin: no more bursts in this epoch.
inline void announce_end(const Pair& pair) {
    pair.of_origin(0);
}

}  // namespace slowpath::put
