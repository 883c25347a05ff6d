// SPDX-License-Identifier: Apache-2.0
/// Styles on devices against each other: as experiments/cannon/contest.hpp has it for the CPU, each
/// repetition runs all of them, one after the other.
#pragma once

#include <span>

#include "cannon/parameters.hpp"
#include "experiment/context.hpp"

namespace slowpath::cannon::gpu {

/// Collective.  Members that can't run here are skipped with the reason.
void run_on_devices(Context& context, const Config& config, const Layout& layout,
                    std::span<GroupMember> members);

}  // namespace slowpath::cannon::gpu
