// SPDX-License-Identifier: Apache-2.0
/// Lists and ranges of the command line (8,1KiB  1KiB..1MiB*2  0..64+8), multiplied into cells.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parameters.hpp"

namespace slowpath {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// All values a text stands for, in order.  @throws UsageError: a range without step, with the ends swapped,
/// ...
std::vector<std::string> expand_values(const Parameter& parameter, std::string_view text);

/// The product of all parameters' values; the last one given varies fastest.
/// @throws UsageError, also for more than a million cells.
std::vector<KeyValues> expand_cells(std::span<const Parameter> table, const KeyValues& given);

}  // namespace slowpath
