// SPDX-License-Identifier: Apache-2.0
/// All experiments, one line each in registry.cpp.
#pragma once

#include <span>
#include <string_view>

#include "experiment/experiment.hpp"

namespace slowpath {

std::span<const Experiment* const> experiments();

/// @throws UsageError with the nearest valid name.
const Experiment& find_experiment(std::string_view name);

}  // namespace slowpath
