// SPDX-License-Identifier: Apache-2.0
/// Why a mock-up can't stand in for a collective. Each answer rests on what is the same on all ranks:
/// MPI_IN_PLACE and datatypes are not.
#pragma once

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

/// An intercommunicator, or lengths that an int does not count.
const char* unless_counted(const Arguments&);
/// That, or an op whose order counts.
const char* unless_commutative(const Arguments&);
/// That, or an op of the user's: it may not bear elements that the user did not give.
const char* unless_built_in(const Arguments&);
/// Ranks that lie on nodes as lanes need them.
const char* unless_regular_nodes(const Arguments&);
const char* unless_nodes(const Arguments&);
/// For commutative ops only.
const char* unless_regular_nodes_and_commutative(const Arguments&);
const char* unless_nodes_and_commutative(const Arguments&);

}  // namespace slowpath::mockups
