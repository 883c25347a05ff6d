// SPDX-License-Identifier: Apache-2.0
/// pattern=calls: the libraries of a group in turns, on communicators that are in use.
#pragma once

#include <span>

#include "nccl/bench.hpp"

namespace slowpath::nccl {

/// Collective.  Members that can't run are skipped with the reason.
void measure_calls(Context& context, const Config& config, const Call& call, int device,
                   std::span<GroupMember> members);

}  // namespace slowpath::nccl
