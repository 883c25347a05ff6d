// SPDX-License-Identifier: Apache-2.0
/// Runs cells one after the other, on all ranks together.
#pragma once

#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "mpi/session.hpp"

namespace slowpath {

inline constexpr int exit_ok = 0;
inline constexpr int exit_wrong_payload = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_environment = 4;

/// Collective.  @return The exit code.
/// @throws UsageError and AgreedFailure on all ranks; EnvironmentFailure, mpi::Error, memory::Error on any of
/// them.
int run_cells(const mpi::Session& session, const Arguments& arguments);

/// The cells that the command line asks for, numbered from 0, checked.  @throws UsageError.
Plan plan_of(const Arguments& arguments);

/// @throws UsageError: unknown experiment, parameter, value, or values that don't go together.
void check_plan(const Plan& plan);

}  // namespace slowpath
