// SPDX-License-Identifier: Apache-2.0
/// Computing for a given time: registers only, no memory and no calls.
#pragma once

#include <cstdint>

#include "core/clock.hpp"

namespace slowpath {

/// A chain of dependent multiplications: its time follows the processor's clock alone.  What a transfer takes
/// from the bandwidth of memory or from a cache it does not feel.
void compute(std::int64_t steps);

/// Steps that take about this long, at least 1; takes about a millisecond to find out.
/// @param length_ns Above 0.
std::int64_t steps_lasting(double length_ns, const MonotonicClock& clock);

}  // namespace slowpath
