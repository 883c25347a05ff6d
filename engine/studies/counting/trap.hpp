// SPDX-License-Identifier: Apache-2.0
/// Single-stepping of the calling thread by itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counting/trace.hpp"

namespace slowpath::counting {

/// Why this thread can't be stepped; nullopt: it can, as far as is known without trying.
std::optional<std::string> cannot_step();

/// Run `region` once, stepping, and return the instructions between the begin and the end of the call.
/// @param limit Longest trace; its memory is taken and written before the first step.
/// @throws EnvironmentFailure: it can't be done, the trace is longer than `limit`, or the region starts a
/// thread.
std::vector<Traced> step_through(const std::function<void()>& region, std::size_t limit);

}  // namespace slowpath::counting
