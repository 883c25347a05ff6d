// SPDX-License-Identifier: Apache-2.0
#include "watch/events.hpp"

#include <atomic>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/repeated.hpp"
#include "watch/sampler.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit std::atomic<int> lanes_thinning{0};
constinit std::uint32_t before = layout::running;

bool is_kept(const Lane& lane, std::uint64_t window) {
    return (window & ((std::uint64_t{1} << lane.row->level) - 1)) == 0;
}

/// Whether a window with events would be left by the next level.
bool next_level_keeps_some(const Lane& lane) {
    const std::uint64_t mask = (std::uint64_t{2} << lane.row->level) - 1;
    for (std::uint32_t run = 0; run < lane.run_count; ++run) {
        const std::uint32_t end = run + 1 < lane.run_count ? lane.runs[run + 1].begin : lane.events.used();
        if ((lane.runs[run].window & mask) == 0 && end > lane.runs[run].begin) return true;
    }
    return (lane.runs[lane.run_count - 1].window & mask) == 0;
}

/// Drop the windows that this level leaves out.
void drop_windows(Lane& lane) {
    std::uint32_t kept_runs = 0, kept_events = 0;
    const std::uint32_t used = lane.events.used();
    for (std::uint32_t run = 0; run < lane.run_count; ++run) {
        const WindowRun from = lane.runs[run];
        const std::uint32_t end = run + 1 < lane.run_count ? lane.runs[run + 1].begin : used;
        if (!is_kept(lane, from.window)) continue;
        std::memmove(static_cast<void*>(&lane.events[kept_events]), &lane.events[from.begin],
                     (end - from.begin) * sizeof(layout::Event));
        lane.runs[kept_runs++] = {from.window, kept_events};
        kept_events += end - from.begin;
    }
    lane.run_count = kept_runs;
    lane.events.shrink(kept_events);
}

/// Make room for a window that is being recorded: the last one of the runs. State 4 while events of any lane
/// move.
void thin(Lane& lane) {
    const std::uint64_t since = now_ticks();
    if (lanes_thinning.fetch_add(1) == 0 && header().state != layout::thinning) before = header().state;
    set_state(layout::thinning);
    const std::uint64_t current = lane.runs[lane.run_count - 1].window;
    constexpr std::uint32_t most_level = 63;
    const std::uint32_t enough = lane.events.capacity() - lane.events.capacity() / 4;
    while (lane.events.used() > enough && lane.run_count > 1 && lane.row->level < most_level &&
           next_level_keeps_some(lane)) {
        ++lane.row->level;
        drop_windows(lane);
    }
    lane.keeps_window = is_kept(lane, current);
    if (lanes_thinning.fetch_sub(1) == 1) set_state(static_cast<layout::State>(before));
    lane.row->own_ticks += now_ticks() - since;
}

/// Whether the calls since the last window came so close together that to watch each of them would take more
/// than 3 % of the time between them.
bool find_busy(Lane& lane, std::uint64_t start_ticks) {
    constexpr std::uint64_t most_share = 33;
    const std::uint64_t busy_call_ns = header().call_cost_ns * most_share;
    const std::uint64_t calls = lane.row->calls - lane.window_begin_calls;
    const std::uint64_t passed_ns =
        start_ticks > lane.window_begin_ticks ? duration_ns(start_ticks - lane.window_begin_ticks) : 0;
    const bool is_known = lane.window_begin_ticks != 0 && passed_ns >= window_ns / 2;
    lane.window_begin_ticks = start_ticks;
    lane.window_begin_calls = lane.row->calls;
    return is_known && calls * busy_call_ns > passed_ns;
}

/// The window that `start_ticks` is in, by the clock that all ranks of a node have in common.
[[gnu::noinline]] void enter_window(Lane& lane, std::uint64_t start_ticks) {
    const std::uint64_t now = now_ticks();
    const std::uint64_t start_ns = monotonic_ns() - (now > start_ticks ? duration_ns(now - start_ticks) : 0);
    const std::uint64_t window = start_ns / window_ns;
    const std::uint64_t rest_ns = (window + 1) * window_ns - start_ns;
    lane.window_end_ticks =
        start_ticks + 1 + static_cast<std::uint64_t>(static_cast<double>(rest_ns) / ns_per_tick);
    count_thinned(lane);
    lane.is_busy = find_busy(lane, start_ticks);
    if (lane.number == 0) {
        renew_anchor();
        publish_samples();
    }
    if (lane.runs == nullptr) return;
    lane.keeps_window = is_kept(lane, window);
    if (!lane.keeps_window) return;
    const bool is_last_empty =
        lane.run_count > 0 && lane.runs[lane.run_count - 1].begin == lane.events.used();
    if (!is_last_empty) ++lane.run_count;
    lane.runs[lane.run_count - 1] = {window, lane.events.used()};
}

/// Whether a poll that found nothing goes on with such polls, one of them at the same place, with no time in
/// between: a loop that waits by polling, at a few places in turn, is one event of each, so that it does not
/// take the room of all others. Each but the last one keeps the time of its first poll; the last one, of all.
bool goes_on(Lane& lane, const layout::Event& event) {
    constexpr std::uint32_t places = 4;
    const std::uint32_t used = lane.events.used(), begin = lane.runs[lane.run_count - 1].begin;
    if (used == begin) return false;
    // A loop that goes on untimed was without pause; what is long in it is the loss of its processor.
    const auto gap_ns =
        static_cast<double>(event.start_ticks - lane.events[used - 1].end_ticks) * ns_per_tick;
    if (lane.untimed_polls == 0 && gap_ns >= 1000) return false;
    for (std::uint32_t at = used; at > begin && used - at < places; --at) {
        const layout::Event& earlier = lane.events[at - 1];
        if ((earlier.kind & layout::found_nothing) == 0) return false;
        if (earlier.kind == event.kind && earlier.site == event.site && earlier.call == event.call)
            return true;
    }
    return false;
}

}  // namespace

void add_event(Lane& lane, const layout::Event& event) {
    if (event.start_ticks >= lane.window_end_ticks) [[unlikely]]
        enter_window(lane, event.start_ticks);
    ++lane.row->events_seen;
    if (!lane.keeps_window) return;
    if ((event.kind & layout::found_nothing) != 0 && goes_on(lane, event)) {
        lane.events[lane.events.used() - 1].end_ticks = event.end_ticks;
        return;
    }
    if (lane.events.used() == lane.events.capacity()) [[unlikely]] {
        thin(lane);
        if (!lane.keeps_window) return;
        if (lane.events.used() == lane.events.capacity())
            return lane.events.lose(1);  // one window fills all the room: the rest of it is left out
    }
    *lane.events.next() = event;
    lane.events.publish();
}

namespace {

ProfileKey key_of(const layout::Profile& row) {
    ProfileKey key;
    std::memcpy(&key, &row, sizeof key);
    return key;
}

layout::Profile* find(Lane& lane, const ProfileKey& key, std::size_t& at) {
    at = scatter(key.low ^ scatter(key.high)) % Lane::profile_slots;
    for (; lane.profile_index[at] != 0; at = (at + 1) % Lane::profile_slots) {
        layout::Profile& row = lane.profile[lane.profile_index[at] - 1];
        if (key_of(row) == key) return &row;
    }
    return nullptr;
}

/// The row of a key, made where there is none and fewer than `most` are.
layout::Profile* find_or_make(Lane& lane, const ProfileKey& key, std::uint32_t most) {
    std::size_t at = 0;
    if (layout::Profile* there = find(lane, key, at)) return there;
    if (lane.profile.used() >= most) return nullptr;
    layout::Profile* row = lane.profile.next();
    std::memcpy(static_cast<void*>(row), &key, sizeof key);
    lane.profile_index[at] = lane.profile.publish() + 1;
    return row;
}

}  // namespace

layout::Profile* find_profile_row(Lane& lane, const ProfileKey& sought) {
    ProfileKey key = sought;
    const std::uint32_t capacity = lane.profile.capacity();
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 4)) return row;
    lane.profile.lose(1);
    constexpr std::uint64_t half = 0xffffffff;  // of a word: peer or site
    const auto peer = static_cast<std::int32_t>(key.high);
    if (peer >= 0 || peer <= layout::unknown_ranks)
        key.high = (key.high & ~half) | static_cast<std::uint32_t>(layout::others);
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 8)) return row;
    key.low &= ~half;
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 16)) return row;
    key = {0, static_cast<std::uint16_t>(key.low >> 32), 0, 0, layout::others, 0, layout::no_row};
    return find_or_make(lane, key, capacity);
}

layout::Profile* count(Lane& lane, const ProfileKey& key, const Counted& what, std::uint32_t* hint) {
    if (lane.profile.capacity() == 0) return nullptr;
    layout::Profile* row = nullptr;
    if (hint != nullptr && *hint != 0 && key_of(lane.profile[*hint - 1]) == key) [[likely]] {
        row = &lane.profile[*hint - 1];
    } else {
        row = find_profile_row(lane, key);
        if (row == nullptr) return nullptr;
        if (hint != nullptr) *hint = static_cast<std::uint32_t>(row - &lane.profile[0]) + 1;
    }
    row->count += what.calls;
    row->bytes += what.bytes;
    if (what.allocation_bytes != 0) row->allocation_bytes = what.allocation_bytes;
    row->ticks += what.ticks;
    return row;
}

}  // namespace slowpath::watch
