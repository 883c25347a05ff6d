// SPDX-License-Identifier: Apache-2.0
/// pattern=first_use: a library from nothing to its first call with a message, by named steps without a gap.
#pragma once

#include <span>

#include "nccl/bench.hpp"

namespace slowpath::nccl {

/// Collective.  One member after the other, each with a communicator and buffers of its own.
void measure_first_use(Context& context, const Config& config, const Call& call, int device,
                       std::span<GroupMember> members);

}  // namespace slowpath::nccl
