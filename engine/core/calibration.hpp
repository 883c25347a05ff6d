// SPDX-License-Identifier: Apache-2.0
/// What the clock really resolves and costs, measured at every launch on every rank; never asked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"

namespace slowpath {

struct Calibration {
    std::int64_t quantum_ns;   ///< step in which the clock advances, >= 1
    std::int64_t overhead_ns;  ///< cost of one reading, >= 1
    std::int64_t max_gap_ns;   ///< longest gap between two readings: what the scheduler or an interrupt took
};

/// A clock whose step is longer is of no use: the engine refuses it.
inline constexpr std::int64_t coarsest_quantum_ns = 1000;

/// Step of the clock from differences of readings.
/// @param differences_ns Readings apart by many different delays, so that neighbouring multiples of the step
/// occur.
/// @return ns, >= 1. If all differences are alike, that difference: an upper bound is the safe side for
/// batching.
std::int64_t quantum_from(std::span<const std::int64_t> differences_ns);

/// Cost of one reading: median over stretches of the mean difference, so that neither a coarse step nor a
/// rare interruption moves it.
/// @param differences_ns Back-to-back readings, in order.  @return ns, >= 1.
std::int64_t overhead_from(std::span<const std::int64_t> differences_ns);

namespace detail {

/// Small delays that differ from call to call, from an xorshift sequence (Marsaglia 2003): without them a
/// steady loop meets the same few differences only and a fine clock cannot be distinguished from a coarse
/// one.
class VaryingDelay {
  public:
    void operator()() noexcept {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        for (std::uint64_t left = state_ % 64; left != 0; --left) asm volatile("" ::: "memory");
    }

  private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

template <Clock C, class Delay>
std::vector<std::int64_t> differences(C& clock, int count, Delay delay) {
    std::vector<std::int64_t> found(static_cast<std::size_t>(count));
    std::int64_t before = clock.now_ns();
    for (std::int64_t& difference : found) {
        delay();
        const std::int64_t now = clock.now_ns();
        difference = now - before;
        before = now;
    }
    return found;
}

}  // namespace detail

/// Read the clock about 1.2e5 times; a few milliseconds.
template <Clock C>
Calibration calibrate(C& clock) {
    constexpr int back_to_back = 100'000;
    constexpr int delayed = 20'000;
    const std::vector<std::int64_t> bare = detail::differences(clock, back_to_back, [] {});
    const std::vector<std::int64_t> varied = detail::differences(clock, delayed, detail::VaryingDelay{});
    std::int64_t max_gap_ns = 0;
    for (const std::int64_t difference : bare) max_gap_ns = difference > max_gap_ns ? difference : max_gap_ns;
    return {quantum_from(varied), overhead_from(bare), max_gap_ns};
}

}  // namespace slowpath
