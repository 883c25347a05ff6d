// SPDX-License-Identifier: Apache-2.0
/// OpenSHMEM as a runner: puts to symmetric memory.
#pragma once

#include "put/runner.hpp"

namespace slowpath::put {

/// Collective over both ranks; the reason is the same on both where there is no OpenSHMEM on either.
Made make_openshmem_runner(const Config& config, const Layout& layout, const Pair& pair,
                           const OriginMemory& origin);

}  // namespace slowpath::put
