// SPDX-License-Identifier: Apache-2.0
/// How the bytes of the file are shared out.
#pragma once

#include <cstdint>

#include "watch/layout.hpp"

namespace slowpath::watch {

/// Long enough to hold whole iterations of most programs, and both sides of most waits: a message that is
/// sent in a window that was dropped explains nothing. Short enough that the room holds one of the busiest
/// programs' (schema/watch.json, events).
inline constexpr std::uint64_t window_ns = 20'000'000;

/// Lanes of a program whose threads may all call MPI; the last one is for all threads beyond.
inline constexpr std::uint32_t most_room_lanes = 8;

struct Room {
    std::uint64_t offset = 0;
    std::uint32_t capacity = 0;
};

struct Rooms {
    std::uint64_t file_bytes = 0;
    Room lanes, calls, sites, communicators, members, datatypes, allocations, text, current;
    std::uint32_t lane_count = 0;
    Room profiles[most_room_lanes];
    Room events[most_room_lanes];
};

/// @param is_single One thread calls MPI: it has nearly all, and one small lane is for a thread that calls
/// nevertheless.
constexpr Rooms share_rooms(std::uint32_t call_total, bool is_single) {
    struct Lanes {
        std::uint32_t count, first_profiles, first_events, more_profiles, more_events;
    };
    const Lanes lanes =
        is_single ? Lanes{2, 4096, 76 * 1024, 256, 1024} : Lanes{most_room_lanes, 2048, 20 * 1024, 768, 6144};
    Rooms rooms;
    std::uint64_t end = layout::header_bytes;
    const auto take = [&end](std::uint32_t capacity, std::uint64_t element_bytes) {
        constexpr std::uint64_t page = 4096;
        const Room room{end, capacity};
        end = (end + capacity * element_bytes + page - 1) / page * page;
        return room;
    };
    rooms.lanes = take(lanes.count, sizeof(layout::Lane));
    rooms.calls = take(call_total, sizeof(layout::CallRow));
    rooms.sites = take(4096, sizeof(layout::Site));
    rooms.communicators = take(2048, sizeof(layout::Communicator));
    rooms.members = take(64 * 1024, sizeof(layout::Member));
    rooms.datatypes = take(2048, sizeof(layout::Datatype));
    rooms.allocations = take(8192, sizeof(layout::Allocation));
    rooms.text = take(256 * 1024, sizeof(layout::Text));
    rooms.current = take(lanes.count, sizeof(layout::Current));
    rooms.lane_count = lanes.count;
    for (std::uint32_t lane = 0; lane < lanes.count; ++lane) {
        rooms.profiles[lane] =
            take(lane == 0 ? lanes.first_profiles : lanes.more_profiles, sizeof(layout::Profile));
        rooms.events[lane] = take(lane == 0 ? lanes.first_events : lanes.more_events, sizeof(layout::Event));
    }
    rooms.file_bytes = end;
    return rooms;
}
static_assert(share_rooms(1024, true).file_bytes <= layout::most_bytes);
static_assert(share_rooms(1024, false).file_bytes <= layout::most_bytes);

}  // namespace slowpath::watch
