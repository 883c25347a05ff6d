// SPDX-License-Identifier: Apache-2.0
#include "put/shape.hpp"

#include <stdexcept>

namespace slowpath::put {

std::int64_t bytes_of(Basic basic) {
    return basic == Basic::int32 || basic == Basic::float32 ? 4 : 8;
}

std::int64_t Shape::end_bytes() const {
    return fields.back().offset_bytes + bytes_of(fields.back().basic);
}

namespace {

Shape shape_of_kind(const Config& config, DatatypeKind kind) {
    // MPI_Compare_and_swap takes no floating point (MPI-4.1 section 12.3.4.4).
    const Basic word = config.operation == Operation::compare_and_swap ? Basic::int64 : Basic::float64;
    switch (kind) {
        case DatatypeKind::predefined:
        case DatatypeKind::large_count:
            return {kind, {{0, word}}, 8};
        case DatatypeKind::contiguous:
            return {kind, {{0, Basic::int32}, {4, Basic::float32}}, 8};
        case DatatypeKind::vector:
            return {kind, {{0, Basic::float32}, {8, Basic::float32}}, 12};
        case DatatypeKind::indexed:
            // A gap of 4 bytes before the first block and one of 8 bytes between the two; the lower bound
            // is 4.
            return {kind, {{4, Basic::float32}, {16, Basic::float32}}, 16};
    }
    throw std::logic_error("unknown datatype");
}

}  // namespace

Shape shape_of(const Config& config) {
    return shape_of_kind(config, config.datatype);
}

Shape target_shape_of(const Config& config) {
    return shape_of_kind(config, config.target_kind());
}

}  // namespace slowpath::put
