// SPDX-License-Identifier: Apache-2.0
/// A datatype's layout, as MPI tells how it was made.
#pragma once

#include <cstdint>

#include "watch/call.hpp"
#include "watch/flat.hpp"

namespace slowpath::watch {

struct TypeLayout {
    Flat flat;
    std::int64_t bytes = 0;  ///< -1: MPI gave no answer
    std::int64_t extent_bytes = 0;
    std::uint32_t combiner = 0;  ///< in the interface's numbers
    bool is_named = false;       ///< predefined: its handle is never freed
};

/// Calls MPI_Type_get_envelope and _contents, of its parts too. A list of more than 2^20 numbers is not read.
TypeLayout layout_of(Word handle);

}  // namespace slowpath::watch
