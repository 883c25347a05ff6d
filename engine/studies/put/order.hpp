// SPDX-License-Identifier: Apache-2.0
/// Which slot the i-th put of a burst goes to; a template, so that a loop holds one rule and no branch.
#pragma once

#include <cstdint>

#include "layers/burst.hpp"

namespace slowpath::put {

/// @param slot_bytes A power of two.
/// @return Slots from one cache line of 64 bytes to the next; 1 where a slot is as long as a line.
constexpr std::uint64_t line_step(std::int64_t slot_bytes) {
    return slot_bytes >= 64 ? 1 : static_cast<std::uint64_t>(64 / slot_bytes);
}

struct SlotOf {
    std::uint64_t mask;
    std::uint64_t step;             ///< line_step()
    const std::uint32_t* shuffled;  ///< [mask + 1]

    template <layers::Order order>
    std::uint64_t at(std::uint64_t i) const {
        // Always from i: a slot made from the one before it would be a chain of two cycles a put.
        if constexpr (order == layers::Order::same) return 0;
        if constexpr (order == layers::Order::sequential) return i & mask;
        if constexpr (order == layers::Order::line) return (i * step) & mask;
        if constexpr (order == layers::Order::random) return shuffled[i & mask];
    }
};

}  // namespace slowpath::put
