// SPDX-License-Identifier: Apache-2.0
/// The tables of cannon, and a cell's parameters as numbers.
#pragma once

#include <span>
#include <string>

#include "cannon/distribution.hpp"
#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::cannon {

// The tables of cannon, and a cell's parameters as numbers.

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

struct Config {
    const VariantKind* variant;
    const Kernel* kernel;
    std::int64_t n;
    bool ring;       ///< 1 x P instead of a grid as square as can be
    bool move_skew;  ///< the initial alignment is moved and timed, not made in place
    WindowMemory window;
    Numbers numbers;
    Source source;
    std::string folder;  ///< of files
    std::int64_t repetitions;
    std::int64_t warmups;
    std::int64_t piece;  ///< of k, between two tests
    double quiet_wait_s;
    bool validate;
};

Config configure(const Assignment& assignment);

}  // namespace slowpath::cannon
