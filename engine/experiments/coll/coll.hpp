// SPDX-License-Identifier: Apache-2.0
/// The experiment `coll`: collectives, by the library or by other calls that do the same.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::coll {

extern const Experiment experiment;

}  // namespace slowpath::coll
