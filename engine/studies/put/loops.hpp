// SPDX-License-Identifier: Apache-2.0
/// The loops of puts: one for each operation and order, chosen before anything is timed.
#pragma once

#include <string_view>

#include "put/operations.hpp"

namespace slowpath::put {

/// Performs b.puts calls.  @return MPI_SUCCESS, or the code of the call that failed, which was the last one.
using PutsLoop = int (*)(const MpiBurst& b);

struct Loop {
    PutsLoop run;           ///< null: the library has no such function
    std::string_view call;  ///< "MPI_Put"
};

Loop loop_for(const Config& config);

}  // namespace slowpath::put
