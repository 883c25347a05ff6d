// SPDX-License-Identifier: Apache-2.0
/// What this engine can do, for people and for programs, from the tables.
#pragma once

#include <string>
#include <string_view>

namespace slowpath {

/// docs/reference/engine-interface.md, describe --json; one line.
std::string describe_json(std::string_view version);

/// describe without --json: every experiment, one line each, with its metrics.
std::string describe_text(std::string_view version);

std::string general_help();

/// @throws UsageError: unknown experiment.
std::string experiment_help(std::string_view experiment);

}  // namespace slowpath
