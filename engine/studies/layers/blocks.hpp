// SPDX-License-Identifier: Apache-2.0
/// Copying the bytes of elements, once it is known that they may be copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "layers/datatype.hpp"
#include "layers/error.hpp"

namespace slowpath::layers {

/// memcpy, out of line, so that a layer's own code needs no stack frame. @return success.
int copy_any(std::byte* target, const std::byte* origin, std::uint64_t bytes);

/// Copy consecutive bytes; 8 of them, the commonest put, by one load and one store. @return success.
[[gnu::always_inline]] inline int copy_bytes(std::byte* target, const std::byte* origin,
                                             std::uint64_t bytes) {
    if (bytes == sizeof(std::uint64_t)) [[likely]] {
        std::uint64_t word;
        std::memcpy(&word, origin, sizeof word);
        std::memcpy(target, &word, sizeof word);
        return success;
    }
    return copy_any(target, origin, bytes);
}

/// Copy `count` >= 1 elements of one datatype to elements of the same: block by block, without comparing
/// lengths. There is data. @return success.
int copy_same(std::byte* target, const std::byte* origin, const TypeRecord& record, std::int64_t count);

/// Copy elements of one datatype to elements of another: both lists of blocks are walked at once, and the
/// shorter of the two present blocks is what is copied next.
/// @param origin_count Elements, as many as hold the target's number of bytes; at least one byte.
void copy_merged(std::byte* target, const TypeRecord& target_record, const std::byte* origin,
                 const TypeRecord& origin_record, std::int64_t origin_count);

}  // namespace slowpath::layers
