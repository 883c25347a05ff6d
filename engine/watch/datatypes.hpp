// SPDX-License-Identifier: Apache-2.0
/// Datatypes, flattened once.
#pragma once

#include <cstdint>

#include "watch/call.hpp"

namespace slowpath::watch {

inline constexpr std::uint16_t contiguous = 0xffff;

struct DatatypeView {
    std::uint16_t row = contiguous;  ///< of the section datatypes
    std::uint64_t bytes = 1;         ///< of one element
    std::int64_t extent_bytes = 1;
    bool has_gaps = false;
};

/// A hash look-up where the handle is known; MPI_Type_get_envelope and _contents where not. Makes rows of the
/// section datatypes: types of one layout share one.
DatatypeView view_datatype(Word handle);
/// The handle may be given to another type from now on.
void datatype_freed(Word handle);

}  // namespace slowpath::watch
