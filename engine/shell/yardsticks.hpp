// SPDX-License-Identifier: Apache-2.0
/// What the messages of a launch would cost without MPI, measured between the same ranks after the last cell
/// (docs/internals/statistics.md).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "experiment/experiment.hpp"
#include "mpi/session.hpp"
#include "yardstick/shared_region.hpp"

namespace slowpath {

class Yardsticks {
  public:
    /// The launch begins.  @param launch Its number: where time is short, other lengths come first in others.
    Yardsticks(const mpi::Session& session, std::uint32_t launch);

    /// @param routes The same on all ranks.  Without a call nothing is measured.
    void plan_for(const std::set<Route>& routes);
    /// Collective.  @return This rank's lines `yardstick` for events.jsonl.
    std::string measured();

  private:
    using Ends = std::pair<int, int>;  ///< ranks
    void measure(Ends ends, const std::vector<Route>& routes, bool one_node);
    void measure_together(Ends ends, const std::vector<Route>& routes, yardstick::SharedRegion& region);
    void measure_route(Ends ends, const Route& route, yardstick::SharedRegion& region);
    bool may_measure(const Route& route, yardstick::Party me, yardstick::SharedRegion& region);
    void say(const std::string& reason, Ends ends);

    const mpi::Session& session_;
    MonotonicClock clock_;
    std::uint32_t launch_;
    std::int64_t begin_ns_;
    std::int64_t yardsticks_begin_ns_ = 0;
    std::int64_t allowed_ns_ = 0;
    bool beyond_ = false;  ///< one length beyond what is allowed was measured
    std::map<Ends, std::vector<Route>> planned_;
    std::string lines_;
};

}  // namespace slowpath
