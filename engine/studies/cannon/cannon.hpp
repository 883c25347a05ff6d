// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::cannon {

extern const Experiment experiment;

}  // namespace slowpath::cannon
