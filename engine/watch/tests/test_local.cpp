// SPDX-License-Identifier: Apache-2.0
/// Calls that communicate nothing are counted by place, and nothing else is kept of them.
#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <utility>

#include "watch/file.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::Record;
using record_file::record_of;
using record_file::recorded;

namespace {

/// By call and site.
std::map<std::pair<int, std::uint32_t>, std::uint64_t> counts(const Record& record, std::uint32_t lane = 0) {
    std::map<std::pair<int, std::uint32_t>, std::uint64_t> all;
    for (const layout::Profile& row : record.rows<layout::Profile>(layout::Is::profile, lane)) {
        EXPECT_EQ(row.ticks, 0U);
        all[{row.call, row.site}] += row.count;
    }
    return all;
}

}  // namespace

TEST(Local, CallsAreCountedByPlaceWithoutTimes) {
    const Record record = record_of([] {
        fake_mpi::count(calls::MPI_Initialized);
        begin_record();
        for (int one = 0; one < 1000; ++one) {
            fake_mpi::count(calls::MPI_Comm_rank, 10);
            fake_mpi::count(calls::MPI_Comm_rank, 20);
            fake_mpi::count(calls::MPI_Comm_size, 20);
        }
        end_record();
        fake_mpi::count(calls::MPI_Finalized);
    });
    const auto by_place = counts(record);
    ASSERT_EQ(by_place.size(), 3U);
    for (const auto& [place, count] : by_place) EXPECT_EQ(count, 1000U) << place.first;
    EXPECT_TRUE(record.events().empty());
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    ASSERT_EQ(lanes.size(), 1U);
    EXPECT_EQ(lanes[0].calls, 0U);
    EXPECT_EQ(record.rows<layout::CallRow>(layout::Is::calls)[calls::MPI_Comm_rank].calls, 0U);
    EXPECT_GT(record.header().local_call_ticks, 0);
}

TEST(Local, ThreadsBeyondTheLastLaneAreCountedToo) {
    constexpr int threads = 12, each = 5000;
    const Record record = record_of([] {
        fake_mpi::world.thread_level = 3;
        begin_record();
        std::vector<std::thread> all;
        for (int thread = 0; thread < threads; ++thread)
            all.emplace_back([] {
                for (int one = 0; one < each; ++one) fake_mpi::count(calls::MPI_Comm_rank);
            });
        for (std::thread& one : all) one.join();
        end_record();
    });
    std::uint64_t sum = 0;
    for (std::uint32_t lane = 0; lane < 8; ++lane)
        for (const auto& [place, count] : counts(record, lane)) sum += count;
    EXPECT_EQ(sum, std::uint64_t{threads} * each);
}
