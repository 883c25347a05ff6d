// SPDX-License-Identifier: Apache-2.0
/// What a call costs is measured on some of the program's own.
#include <gtest/gtest.h>

#include "watch/clock.hpp"
#include "watch/file.hpp"
#include "watch/lanes.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::Record;
using record_file::recorded;

TEST(Cost, IsThatOfCallsThatWereNotInterruptedAndOfBeginAndEnd) {
    const Record record = recorded([] {
        const auto ticks_of = [](double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick); };
        Observed call{calls::MPI_Send, nullptr, nullptr, nullptr};
        for (int round = 0; round < 100; ++round) {
            call.is_thinned = round % 2 != 0;
            note_own_cost(call, ticks_of(call.is_thinned ? 500 : round % 20 == 0 ? 1e6 : 1000));
        }
    });
    // Less what the two readings of the clock around the call take.
    EXPECT_LE(record.header().call_cost_ns, 1000U);
    EXPECT_GT(record.header().call_cost_ns, 500U);
    EXPECT_LE(record.header().thinned_call_cost_ns, 500U);
    EXPECT_GT(record.header().thinned_call_cost_ns, 0U);
    const auto run_ticks = record.header().end_ticks - record.header().start_ticks;
    EXPECT_GT(record.rows<layout::Lane>(layout::Is::lanes)[0].own_ticks, run_ticks / 2);
}
