// SPDX-License-Identifier: Apache-2.0
/// Slots: where each put of a burst reads and writes, alike at the origin and at the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "put/shape.hpp"

namespace slowpath::put {

struct Layout {
    Shape shape;         ///< of the origin's side
    Shape target_shape;  ///< of the target's side
    std::int64_t count;  ///< elements of a put
    std::int64_t
        slot_bytes;      ///< from one slot to the next, a power of two: a place is a shift and a mask away
    std::int64_t slots;  ///< a power of two
    std::vector<std::uint32_t> shuffled;  ///< a permutation of the slots, for Order::random

    std::uint64_t mask() const { return static_cast<std::uint64_t>(slots) - 1; }
    /// Slots and, behind the last one, bytes that no put may touch.
    std::size_t bytes() const { return static_cast<std::size_t>(slots * slot_bytes) + guard_bytes; }

    static constexpr std::size_t guard_bytes = 64;
};

/// Slots for 4 KiB, which stay in a first-level cache; 64 of them at least, for 64 MiB at most.
Layout layout_of(const Config& config);

/// How often one burst hits each slot.
/// @return [slots].
std::vector<std::int64_t> hits_of(const Layout& layout, layers::Order order, std::int64_t puts);

}  // namespace slowpath::put
