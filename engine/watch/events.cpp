// SPDX-License-Identifier: Apache-2.0
#include "watch/events.hpp"

#include <atomic>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/resources.hpp"

namespace slowpath::watch {
namespace {

constinit std::atomic<int> lanes_thinning{0};
constinit std::uint32_t before = layout::running;

/// State 4 while events of any lane move.
class Thinning {
  public:
    explicit Thinning(Lane& lane) : lane_(lane), since_(now_ticks()) {
        if (lanes_thinning.fetch_add(1) == 0 && header().state != layout::thinning) before = header().state;
        set_state(layout::thinning);
    }
    ~Thinning() {
        if (lanes_thinning.fetch_sub(1) == 1) set_state(static_cast<layout::State>(before));
        lane_.row->own_ticks += now_ticks() - since_;
    }
    Thinning(const Thinning&) = delete;
    Thinning& operator=(const Thinning&) = delete;

  private:
    Lane& lane_;
    std::uint64_t since_;
};

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

/// Make room for a window that is being recorded: the last one of the runs.
void thin(Lane& lane) {
    const Thinning thinning(lane);
    const std::uint64_t current = lane.runs[lane.run_count - 1].window;
    constexpr std::uint32_t most_level = 63;
    const std::uint32_t enough = lane.events.capacity() - lane.events.capacity() / 4;
    while (lane.events.used() > enough && lane.run_count > 1 && lane.row->level < most_level &&
           next_level_keeps_some(lane)) {
        ++lane.row->level;
        drop_windows(lane);
    }
    lane.keeps_window = is_kept(lane, current);
}

/// Whether the calls since the last window came so close together that the two readings of the clock would
/// take 1.5 % of the time between them (15 ns, docs/internals/watch.md).
bool find_busy(Lane& lane, std::uint64_t start_ticks) {
    constexpr std::uint64_t busy_call_ns = 1000;
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
    lane.is_busy = find_busy(lane, start_ticks);
    if (lane.number == 0) {
        renew_anchor();
        sample_resources(start_ns);
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
    constexpr std::uint64_t at_once_ns = 1000;
    constexpr std::uint32_t places = 4;
    const std::uint32_t used = lane.events.used(), begin = lane.runs[lane.run_count - 1].begin;
    if (used == begin) return false;
    if (event.start_ticks - lane.events[used - 1].end_ticks >=
        static_cast<std::uint64_t>(at_once_ns / ns_per_tick))
        return false;
    for (std::uint32_t at = used; at > begin && used - at < places; --at) {
        const layout::Event& before = lane.events[at - 1];
        if ((before.kind & layout::found_nothing) == 0) return false;
        if (before.kind == event.kind && before.site == event.site && before.call == event.call) return true;
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

}  // namespace slowpath::watch
