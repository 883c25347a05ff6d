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

/// An element of the section datatypes (schema/watch.json).
struct DatatypeRow {
    std::uint64_t bytes;
    std::int64_t extent_bytes;
    std::uint64_t blocks;
    std::uint64_t least_block_bytes;
    std::uint64_t most_block_bytes;
    std::uint64_t span_bytes;
    std::uint32_t combiner;
    std::uint32_t shape;
    std::uint64_t reserved;
};
static_assert(sizeof(DatatypeRow) == 64);

/// Where the record keeps its rows: as keep_allocations. Types of one layout share a row.
void keep_datatypes(DatatypeRow* rows, std::uint32_t capacity, std::uint32_t* used, std::uint32_t* lost);

/// A hash look-up where the handle is known; MPI_Type_get_envelope and _contents where not.
DatatypeView view_datatype(Word handle);
/// The handle may be given to another type from now on.
void datatype_freed(Word handle);

}  // namespace slowpath::watch
