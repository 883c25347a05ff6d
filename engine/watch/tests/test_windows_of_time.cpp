// SPDX-License-Identifier: Apache-2.0
/// Events are thinned by whole windows.
#include <gtest/gtest.h>

#include <map>

#include "watch/clock.hpp"
#include "watch/events.hpp"
#include "watch/file.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::Record;
using record_file::recorded;

TEST(Windows, ThoseThatAreKeptAreWholeAndMultiplesOfThePowerOfTwo) {
    // 400 thousand events of the last 200 s, forty in a window; `bytes` says which window in truth.
    constexpr std::uint64_t events = 400'000, gap_ns = window_ns / 40;
    const Record record = recorded([] {
        const std::uint64_t now = now_ticks(), now_ns = monotonic_ns();
        for (std::uint64_t one = 0; one < events; ++one) {
            const std::uint64_t ago_ns = (events - one) * gap_ns;
            layout::Event event{};
            event.start_ticks = now - static_cast<std::uint64_t>(static_cast<double>(ago_ns) / ns_per_tick);
            event.end_ticks = event.start_ticks + 100;
            event.bytes = (now_ns - ago_ns) / window_ns;
            add_event(current_lane(), event);
        }
    });
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    const std::vector<layout::Event> kept = record.events();
    EXPECT_EQ(lanes[0].events_seen, events);
    EXPECT_GE(lanes[0].level, 3U);
    EXPECT_GT(kept.size(), record.section(layout::Is::events)->capacity / 4);
    std::map<std::uint64_t, int> windows;
    std::uint64_t last = 0;
    for (const layout::Event& event : kept) {
        ++windows[event.bytes];
        EXPECT_GE(event.end_ticks, last);
        last = event.end_ticks;
    }
    // The clocks' rates are known to parts in a million: an event at a border may fall on its other side.
    std::size_t whole = 0;
    for (const auto& [window, count] : windows)
        whole += window % (1U << lanes[0].level) == 0 && count >= 38 ? 1 : 0;
    EXPECT_GE(whole * 20, windows.size() * 10);
    EXPECT_EQ(record.section(layout::Is::events)->lost, 0U);
}

TEST(Windows, OneThatIsLongerThanTheRoomIsCutAndSaysSoAndABusyThreadIsThinnedInTheRest) {
    const Record record = recorded([] {
        Lane& lane = current_lane();
        layout::Event event{};
        event.start_ticks = event.end_ticks = now_ticks();
        for (int one = 0; one < 200'000; ++one) add_event(lane, event);
        lane.is_busy = true;
        lane.window_end_ticks = UINT64_MAX;
        for (int one = 0; one < 101; ++one)
            fake_mpi::call(calls::MPI_Send, {0x1000, 8, fake_mpi::type_char, 1, 7, fake_mpi::comm_world});
    });
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    const layout::SectionRow& events = *record.section(layout::Is::events);
    EXPECT_GE(lanes[0].thinned, 90U);
    EXPECT_EQ(events.lost, lanes[0].events_seen - events.capacity - lanes[0].thinned);
}

TEST(Windows, SomeAreKeptThoughTheProgramRunsInOddOnesOnly) {
    const Record record = recorded([] {
        Lane& lane = current_lane();
        const std::uint64_t now = now_ticks(), now_ns = monotonic_ns();
        const std::uint64_t first = (now_ns / window_ns - 100) | 1;
        for (std::uint64_t window = first; window < first + 80; window += 2)
            for (int one = 0; one < 60'000; ++one) {
                const auto ago_ns = static_cast<double>(now_ns - window * window_ns - window_ns / 2);
                layout::Event event{};
                event.start_ticks = event.end_ticks = now - static_cast<std::uint64_t>(ago_ns / ns_per_tick);
                add_event(lane, event);
            }
    });
    EXPECT_GE(record.events().size(), 60'000U);
}
