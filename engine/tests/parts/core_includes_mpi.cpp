// SPDX-License-Identifier: Apache-2.0
// Compiled with what the core links; it must not compile.
#include "core/json.hpp"
#include "mpi/session.hpp"
