// SPDX-License-Identifier: Apache-2.0
/// Point-to-point messages between ranks: how long the first one from fresh memory takes, and the later ones.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::p2p {

extern const Experiment experiment;

}  // namespace slowpath::p2p
