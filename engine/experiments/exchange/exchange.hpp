// SPDX-License-Identifier: Apache-2.0
/// The experiment `exchange`: what neighbours in a grid of ranks send each other at once.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::exchange {

extern const Experiment experiment;

}  // namespace slowpath::exchange
