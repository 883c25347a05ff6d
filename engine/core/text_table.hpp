// SPDX-License-Identifier: Apache-2.0
/// Tables as the OSU micro-benchmarks print them, so that scripts that read those read these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath {

/// "# Size          Latency (us)" and the like; every column after the first is 22 wide.
std::string table_header(const std::vector<std::string_view>& columns);

/// One line; a missing number is "-".
std::string table_row(std::int64_t size, const std::vector<std::optional<double>>& numbers);

/// Median of any numbers; nullopt of none.
std::optional<double> median(std::vector<double> values);

}  // namespace slowpath
