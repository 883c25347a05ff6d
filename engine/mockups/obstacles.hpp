// SPDX-License-Identifier: Apache-2.0
/// Why a mock-up can't stand in for a collective. Each answer rests on what is the same on all ranks:
/// MPI_IN_PLACE and datatypes are not.
#pragma once

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

/// An intercommunicator, or lengths that an int does not count.
const char* unless_counted(const Arguments&);

}  // namespace slowpath::mockups
