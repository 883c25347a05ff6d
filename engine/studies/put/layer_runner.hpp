// SPDX-License-Identifier: Apache-2.0
/// Layers and limits, as a runner: over the memory of an MPI_Win_allocate_shared window.
#pragma once

#include "put/runner.hpp"

namespace slowpath::put {

/// Collective over both ranks.  @throws mpi::Error: the library gives no shared window.
Made make_layer_runner(const Config& config, const Layout& layout, const Pair& pair,
                       const OriginMemory& origin);

}  // namespace slowpath::put
