// SPDX-License-Identifier: Apache-2.0
/// Instructions of the puts of a burst and of its synchronisation, as events of the record.
#pragma once

#include <optional>

#include "experiment/context.hpp"
#include "put/runner.hpp"

namespace slowpath::put {

/// Origin, within an epoch: a few bursts of `config.instructions` puts, the last one counted.  Two lines
/// "instructions" for events.jsonl; what can't be counted says why there, and is no failure of the cell.
/// Leaves the runner with config.puts puts.
/// @throws EnvironmentFailure: a call failed.
void count_instructions(Context& context, const Config& config, const Pair& pair, Runner& runner);

}  // namespace slowpath::put
