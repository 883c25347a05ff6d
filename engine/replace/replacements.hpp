// SPDX-License-Identifier: Apache-2.0
/// Functions of the same types as MPI's, which choose a mock-up or the library's own.
#pragma once

#include <string_view>

#include "mockups/mockups.hpp"
#include "replace/choice.hpp"

namespace slowpath::replace {

/// Of this process.
Choices& choices();

/// For "MPI_Bcast"; nullptr: none is replaced by that name, or no row is about it.
void* replacement(std::string_view name);

}  // namespace slowpath::replace
