// SPDX-License-Identifier: Apache-2.0
/// The command line, split but not yet judged against an experiment: docs/reference/engine-interface.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/sweep.hpp"

namespace slowpath {

enum class Action { run_experiment, run_plan, check, describe, help, version };

struct Arguments {
    Action action = Action::help;
    bool json = false;                ///< describe --json
    std::string experiment;           ///< run_experiment, or help of one; "" for general help
    KeyValues parameters;             ///< as written, lists and ranges unexpanded
    std::optional<std::string> plan;  ///< path; check: "-" for stdin
    std::optional<std::string> out;   ///< path
    std::optional<int> ranks;         ///< check: of the job that is to run the plan
};

/// @param words argv without the program's name.  @throws UsageError.
Arguments parse_arguments(std::span<const std::string_view> words);

}  // namespace slowpath
