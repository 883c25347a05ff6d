// SPDX-License-Identifier: Apache-2.0
#include "watch/lanes.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "watch/clock.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {

constinit std::uint32_t recording = 0;
constinit bool is_multiple = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit Lane* own_lane = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local constinit std::uint32_t own_lane_since = 0;

namespace {

constinit Lane lanes[most_room_lanes]{};
constinit std::uint32_t opened = 0;
constinit SpinLock opening{};

void open_lane(Lane& lane, std::uint32_t number) {
    const LaneRoom room = take_lane_room(number);
    lane.number = number;
    lane.is_shared = number + 1 == most_lanes();
    lane.profile = room.profile;
    lane.events = room.events;
    lane.runs = map_rows<WindowRun>(room.events.capacity() + 1);
    lane.keeps_window = lane.runs != nullptr;
    lane.row = sections().lanes.next();
    lane.row->thread = static_cast<std::int32_t>(syscall(SYS_gettid));
    sections().lanes.publish();
    layout::Current* const current = sections().current.next();
    if (current == nullptr) return;
    current->ticks_per_s = static_cast<std::uint64_t>(1e9 / ns_per_tick);
    current->communicator = current->collective_communicator = layout::no_row;
    sections().current.publish();
    lane.current = lane.is_shared ? nullptr : current;
}

void forget(Lane& lane) {
    unmap_rows(lane.runs, lane.events.capacity() + 1);
    for (SiteSlot& slot : lane.sites) slot = {};
    for (Repeated& call : lane.repeated) call.generation = 0;
    for (std::uint32_t& row : lane.profile_index) row = 0;
    lane.run_count = 0;
    lane.window_end_ticks = lane.unwound = 0;
    lane.window_begin_ticks = lane.window_begin_calls = 0;
    lane.is_busy = false;
}

}  // namespace

Lane& take_lane() {
    const SpinGuard guard(opening);
    const std::uint32_t last = most_lanes() - 1;
    const std::uint32_t number = opened < last ? opened : last;
    if (opened <= last) {
        open_lane(lanes[number], number);
        ++opened;
    }
    own_lane = &lanes[number];
    own_lane_since = recording;
    return *own_lane;
}

Lane* lend_lane(Lane* lane) {
    Lane* const had = own_lane_since == recording ? own_lane : nullptr;
    own_lane = lane;
    own_lane_since = lane == nullptr ? 0 : recording;
    return had;
}

void begin_lanes() {
    for (std::uint32_t lane = 0; lane < opened; ++lane) forget(lanes[lane]);
    opened = 0;
}

}  // namespace slowpath::watch
