// SPDX-License-Identifier: Apache-2.0
/// Single calls with all that is known of each, in windows of time that are thinned when the room is full.
///
/// Calls counted by key, exactly, whatever happens to the events.
#pragma once

#include <bit>
#include <cstdint>

#include "watch/lanes.hpp"

namespace slowpath::watch {

/// Whether a call that was entered then leaves no event, because its window is not kept; counts it if so.
/// False where add_event has to decide.
inline bool leave_out(Lane& lane, std::uint64_t start_ticks) {
    if (lane.keeps_window || start_ticks >= lane.window_end_ticks) return false;
    ++lane.row->events_seen;
    return true;
}

/// Add an event of a call that was entered at `event.start_ticks`, if its window is kept.
void add_event(Lane& lane, const layout::Event& event);

/// As a row of the profile begins. Words: a load that is wider than the stores before it waits for them.
struct ProfileKey {
    std::uint64_t low = 0, high = 0;

    ProfileKey() = default;
    ProfileKey(std::uint32_t site, std::uint16_t call, std::uint8_t size_class, std::uint8_t flags,
               std::int32_t peer, std::uint16_t buffer_class, std::uint16_t communicator)
        : low(site | std::uint64_t{call} << 32 | std::uint64_t{size_class} << 48 |
              std::uint64_t{flags} << 56),
          high(static_cast<std::uint32_t>(peer) | std::uint64_t{buffer_class} << 32 |
               std::uint64_t{communicator} << 48) {
        static_assert(std::endian::native == std::endian::little);
    }
    bool operator==(const ProfileKey&) const = default;
};

enum ProfileFlag : std::uint8_t { first_use = 1, receive_side = 2, has_gaps = 4 };

inline std::uint8_t size_class(std::uint64_t bytes) {
    return static_cast<std::uint8_t>(std::bit_width(bytes));
}

struct Counted {
    std::uint64_t bytes = 0;
    std::uint64_t ticks = 0;
    std::uint64_t allocation_bytes = 0;
    std::uint32_t calls = 1;
};

/// The row that counts calls of this key, a coarser one where the room is used up; nullptr: there is none.
layout::Profile* find_profile_row(Lane& lane, const ProfileKey& key);

/// @param hint Where the row is noted for the next call from the same place, see SiteSlot; may be nullptr.
/// @return The row; nullptr: there is none.
layout::Profile* count(Lane& lane, const ProfileKey& key, const Counted& what, std::uint32_t* hint);

inline constexpr std::uint64_t least_content_bytes = 1024;  ///< as long as all pieces
/// See whether a message of contiguous bytes, of which `row` counts, is zeros or as the one before. At most
/// 500 pairs a second are looked into, and nothing is touched: the kernel copies it.
void look_into(Lane& lane, layout::Profile& row, const void* address, std::uint64_t bytes);

}  // namespace slowpath::watch
