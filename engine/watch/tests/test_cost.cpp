// SPDX-License-Identifier: Apache-2.0
/// What a call costs is measured on calls that leave nothing behind.
#include <gtest/gtest.h>

#include "watch/file.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::Record;
using record_file::record_of;

TEST(Cost, IsMeasuredAndLeavesNothing) {
    const Record record = record_of([] {
        begin_record();
        const Word sent = fake_mpi::word(&fake_mpi::world);
        fake_mpi::call(calls::MPI_Send, {sent, 8, fake_mpi::type_char, 0, 1, fake_mpi::comm_world});
        end_record();
    });
    const std::uint32_t cost_ns = record.header().call_cost_ns;
    EXPECT_GT(cost_ns, 5U);
    EXPECT_LT(cost_ns, 100'000U);
    EXPECT_GT(record.header().thinned_call_cost_ns, 0U);
    EXPECT_LT(record.header().thinned_call_cost_ns, cost_ns);
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    ASSERT_EQ(lanes.size(), 1U);
    EXPECT_EQ(lanes[0].calls, 1U);
    EXPECT_EQ(lanes[0].events_seen, 1U);
    const double run_ticks = static_cast<double>(record.header().end_ticks - record.header().start_ticks);
    EXPECT_GT(static_cast<double>(lanes[0].own_ticks), run_ticks / 2) << "begin and end are most of this run";
    EXPECT_EQ(record.rows<layout::CallRow>(layout::Is::calls)[calls::MPI_Send].calls, 1U);
    EXPECT_EQ(record.rows<layout::Profile>(layout::Is::profile).size(), 1U);
    const std::vector<layout::Event> events = record.events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].sequence, 0U) << "the trial's messages were numbered among the program's";
}
