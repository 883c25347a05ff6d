// SPDX-License-Identifier: Apache-2.0
/// The experiment put: what a put costs, in time and in instructions.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::put {

extern const Experiment experiment;

}  // namespace slowpath::put
