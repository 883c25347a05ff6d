// SPDX-License-Identifier: Apache-2.0
#include "p2p/preparation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "memory/cache.hpp"

namespace slowpath::p2p {
namespace {

/// Spun after a sleep: more than a timer of the kernel is late, so that neither end waits for the other to
/// wake.
constexpr std::int64_t awake_ns = 100'000;

}  // namespace

Preparation::Preparation(const MonotonicClock& clock, const Config& config, Side side)
    : clock_(clock),
      cache_(config.side(side).cache),
      bytes_(static_cast<std::size_t>(config.payload(side).extent_bytes())),
      idle_ns_(std::llround(config.idle_s * 1e9)),
      asleep_ns_(config.idle_sleeps ? std::max<std::int64_t>(0, idle_ns_ - awake_ns) : 0) {}

void Preparation::before_barrier(const std::byte* data) const {
    if (cache_ == Cache::warm) memory::read_lines(data, bytes_);
    if (cache_ == Cache::cold) memory::flush_lines(data, bytes_);
}

void Preparation::after_barrier() const {
    if (idle_ns_ == 0) return;
    const std::int64_t end_ns = clock_.now_ns() + idle_ns_;
    if (asleep_ns_ > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(asleep_ns_));
    while (clock_.now_ns() < end_ns) {
    }
}

}  // namespace slowpath::p2p
