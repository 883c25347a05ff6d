// SPDX-License-Identifier: Apache-2.0
/// Warm-up, batch size and steady state, alike for all patterns but one_way.
#pragma once

#include <cstdint>
#include <functional>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

/// Performs `samples` samples of `batch` operations each, and adds their times to end.samples() on ranks that
/// store.
using RunSamples = std::function<void(std::int64_t samples, std::uint32_t batch)>;

/// The first operation, in a block of its own.
void run_first(Endpoint& endpoint, bool stores, const RunSamples& run);

struct WarmUp {
    std::int64_t operations = 0;
    double operation_ns = 0;  ///< on the rank that decides
    /// The same, undisturbed: a warm-up in a slow moment must not leave batches shorter than a clock can
    /// time.
    double undisturbed_ns = 0;
    double left_ns = 0;  ///< of the time asked for
};

/// What comes before the steady state; decides end.batch on the first set of buffers.
/// @return operations counts samples: what is kept one by one, and batches.
WarmUp run_warm_up(Endpoint& endpoint, bool stores, const RunSamples& run);

/// Everything after it.  The first of the ranks decides how long; its decisions travel between timed regions.
void run_rest(Endpoint& endpoint, bool stores, const RunSamples& run);

}  // namespace slowpath::p2p
