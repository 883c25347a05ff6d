// SPDX-License-Identifier: Apache-2.0
/// The rows of the record's section allocations.
#pragma once

#include <cstdint>

#include "watch/layout.hpp"

namespace slowpath::watch {

/// A row for memory that MPI meets for the first time.
/// @return no_allocation: no room, or no record.
std::uint32_t new_row(const layout::Allocation& row);

/// In place; nullptr: there is none.
layout::Allocation* row_at(std::uint32_t row);

/// The memory is gone.
void row_ended(std::uint32_t row);

}  // namespace slowpath::watch
