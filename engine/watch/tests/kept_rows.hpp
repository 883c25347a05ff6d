// SPDX-License-Identifier: Apache-2.0
/// Sections of a record in memory, in the place of a file's.
#pragma once

#include <cstdint>

#include "watch/file.hpp"

namespace slowpath::watch {

inline constexpr std::uint32_t kept_capacity = 2000;

/// Empty sections; rows that were given out before are no longer valid.
void keep_rows_anew(std::uint32_t capacity = kept_capacity);

/// Rows that found no room.
std::uint32_t lost_allocations();
std::uint32_t lost_datatypes();

}  // namespace slowpath::watch
