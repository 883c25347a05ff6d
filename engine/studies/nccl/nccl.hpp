// SPDX-License-Identifier: Apache-2.0
/// The experiment `nccl`: what MPI does on device memory next to what a GPU vendor's library does.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::nccl {

extern const Experiment experiment;

}  // namespace slowpath::nccl
