// SPDX-License-Identifier: Apache-2.0
/// The experiment `nodes`: all nodes of a job at the same time, each by itself or in pairs along a ring.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::nodes {

extern const Experiment experiment;

}  // namespace slowpath::nodes
