// SPDX-License-Identifier: Apache-2.0
/// One element of the cell's datatype, described once; MPI's datatype and the layers' are both made from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "put/parameters.hpp"

namespace slowpath::put {

enum class Basic : std::uint8_t { float64, int32, float32, int64 };

std::int64_t bytes_of(Basic basic);

struct Field {
    std::int64_t offset_bytes;
    Basic basic;
};

struct Shape {
    DatatypeKind kind;
    std::vector<Field> fields;  ///< in the order of the type map, 8 bytes together
    std::int64_t extent_bytes;

    std::int64_t end_bytes() const;  ///< true upper bound of one element
};

/// Payload of one element of every shape.
inline constexpr std::int64_t element_bytes = 8;

Shape shape_of(const Config& config);         ///< of the origin's side
Shape target_shape_of(const Config& config);  ///< same number of fields, of the same basic types

}  // namespace slowpath::put
