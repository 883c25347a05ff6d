// SPDX-License-Identifier: Apache-2.0
/// What MPI says of a message that has arrived.
#pragma once

#include <cstdint>

namespace slowpath::watch {

struct Arrival {
    std::int32_t source;
    std::int32_t tag;
    std::uint64_t bytes;
    bool is_cancelled;
};

/// @param status An MPI_Status that MPI has filled; nullptr: not known.
Arrival read_status(const void* status);

}  // namespace slowpath::watch
