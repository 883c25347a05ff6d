// SPDX-License-Identifier: Apache-2.0
/// The rows of the record's section allocations.
#pragma once

#include <cstdint>

#include "watch/buffers.hpp"

namespace slowpath::watch {

/// A row for memory that MPI meets for the first time; `address` of it is not used yet.
/// @return no_allocation: no room, or no record.
std::uint32_t new_row(const AllocationRow& row);

/// In place; nullptr: there is none.
AllocationRow* row_at(std::uint32_t row);

/// The memory is gone.
void row_ended(std::uint32_t row);

}  // namespace slowpath::watch
