// SPDX-License-Identifier: Apache-2.0
/// Functions of the same types as MPI's, which choose a mock-up or the library's own.
#pragma once

#include <string_view>

#include "mockups/mockups.hpp"
#include "replace/choice.hpp"

namespace slowpath::replace {

/// Of this process.
Choices& choices();

/// For "MPI_Bcast" or "MPI_Bcast_c"; nullptr: none is replaced by that name, or no row is about it.
/// @param last As Parts::replacement has it.
void* replacement(std::string_view name, LastWindow* last);

}  // namespace slowpath::replace
