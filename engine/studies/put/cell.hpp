// SPDX-License-Identifier: Apache-2.0
/// One cell on the two ranks, from the window to its end.
#pragma once

#include "experiment/context.hpp"
#include "put/pair.hpp"
#include "put/parameters.hpp"

namespace slowpath::put {

/// What one rank found.
struct CellResult {
    std::optional<std::string> skipped;  ///< why; the same on both ranks
    std::optional<std::string> wrong;    ///< the first wrong byte
    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::uint32_t batch = 1;
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;
};

/// Collective over the pair.  @throws mpi::Error, EnvironmentFailure: a call failed that went well before.
CellResult run_on_pair(Context& context, const Config& config, const Pair& pair);

}  // namespace slowpath::put
