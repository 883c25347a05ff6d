// SPDX-License-Identifier: Apache-2.0
/// Which GPU a side uses, and what the record says of it.
#pragma once

#include <optional>
#include <string>

#include "experiment/context.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

/// Ordinal of the side's GPU; 0 for memory that needs none.
/// @param node_rank This rank among those of its node.
int device_for(const SideConfig& side, int node_rank);

/// "device 3: only 2 devices"; nullopt when the side's device is there.
std::optional<std::string> device_obstacle(const SideConfig& side);

/// A note with the side's GPU, if it uses one, in the cell's record (docs/internals/record.md).
void record_gpu(Context& context, const SideConfig& side);

}  // namespace slowpath::p2p
