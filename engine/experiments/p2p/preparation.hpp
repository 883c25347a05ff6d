// SPDX-License-Identifier: Apache-2.0
/// What a rank does before each single message, outside of the timed region.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

/// What most cells do: nothing that a loop would have to test.
struct NoPreparation {
    void before_barrier(const std::byte*) const {}
    void after_barrier() const {}
};

/// Caches made warm or cold, then, after the barrier, time without any call of the library: a barrier after
/// it would wake what idle_s let go to sleep.
class Preparation {
  public:
    Preparation(const MonotonicClock& clock, const Config& config, Side side);
    /// @param data Where the message stands.
    void before_barrier(const std::byte* data) const;
    void after_barrier() const;

  private:
    MonotonicClock clock_;
    Cache cache_;
    std::size_t bytes_;
    std::int64_t idle_ns_;
    std::int64_t asleep_ns_;  ///< of it
};

}  // namespace slowpath::p2p
