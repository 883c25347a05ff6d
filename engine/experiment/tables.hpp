// SPDX-License-Identifier: Apache-2.0
/// Parameters and metrics of an experiment, as its TOML file states them (slowpath_tables in
/// cmake/parts.cmake).
#pragma once

#include <string_view>
#include <vector>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath {

struct Tables {
    std::vector<Parameter> parameters;
    std::vector<Metric> metrics;  ///< pattern by pattern, in the order in which patterns are first named
};

/// Reads the TOML that the experiments' files are written in: two tables, in each a row of one inline table
/// per name, whose values are strings without escapes, lists of them, or true. A parameter is a choice and a
/// setting, and a metric a time in seconds of which less is better, unless its row says otherwise.
/// @param text Must outlive what is returned, which points into it.
/// @throws std::logic_error: it is written otherwise.
Tables read_tables(std::string_view text);

}  // namespace slowpath
