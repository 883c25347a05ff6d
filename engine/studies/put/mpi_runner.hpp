// SPDX-License-Identifier: Apache-2.0
/// The MPI library in use, as a runner: window, datatype, loop and synchronisation of the cell.
#pragma once

#include "put/runner.hpp"

namespace slowpath::put {

/// Collective over both ranks.  @throws mpi::Error: the library refuses.
Made make_mpi_runner(const Config& config, const Layout& layout, const Pair& pair,
                     const OriginMemory& origin);

}  // namespace slowpath::put
