// SPDX-License-Identifier: Apache-2.0
/// What a cell of the experiment nccl is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"
#include "nccl/contestant.hpp"
#include "nccl/operation.hpp"

namespace slowpath::nccl {

struct Config {
    bool first_use;
    const ContestantKind* library;
    Operation operation;
    std::int64_t message_bytes;
    std::int64_t buffer_bytes;  ///< 0: what the call needs
    std::int64_t overalloc_bytes;
    std::int64_t allocations;
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: a message that is no whole number of floats.
Config configure(const Assignment& assignment);

}  // namespace slowpath::nccl
