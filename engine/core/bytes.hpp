// SPDX-License-Identifier: Apache-2.0
/// Byte values as users write them: 4096, 64KiB, 1GiB+1, 2MiB-64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slowpath {

/// @return 0 to 2^63-1.  @throws UsageError with the nearest right spelling: 1GB, 1e9, -1, "" and 2^63 are
/// refused.
std::int64_t parse_bytes(std::string_view text);

/// A whole number without suffix.  @throws UsageError.
std::int64_t parse_count(std::string_view text);

/// A decimal number of seconds, >= 0, finite.  @throws UsageError.
double parse_seconds(std::string_view text);

}  // namespace slowpath
