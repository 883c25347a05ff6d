// SPDX-License-Identifier: Apache-2.0
/// Warm-up, batch size and steady state, alike for ping_pong and windowed.
#pragma once

#include <cstdint>
#include <functional>

#include "experiments/p2p/end.hpp"

namespace slowpath::p2p {

/// Performs `samples` samples of `batch` operations each, and adds their times to end.samples() on ranks that
/// store.
using RunSamples = std::function<void(std::int64_t samples, std::uint32_t batch)>;

/// The first operation, in a block of its own.
void run_first(End& end, bool stores, const RunSamples& run);

/// Everything after it.  The first of the ranks decides how long; its decisions travel between timed regions.
void run_rest(End& end, bool stores, const RunSamples& run);

}  // namespace slowpath::p2p
