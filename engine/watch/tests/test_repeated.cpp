// SPDX-License-Identifier: Apache-2.0
/// Sends and receives like an earlier one are recorded as if they were the first.
#include <gtest/gtest.h>

#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using fake_mpi::call;
using fake_mpi::comm_world;
using fake_mpi::type_char;
using fake_mpi::word;
using record_file::Record;
using record_file::record_of;

namespace {

char data[64];
constexpr Word pair = 0x84000001;

void split_off(int other) {
    fake_mpi::world.communicators = {{pair, {0, other}}};
    std::uint32_t made = 0;
    call(calls::MPI_Comm_split, {comm_world, 0, 0, word(&made)}, [&](Word*) { made = pair; });
}

}  // namespace

TEST(Repeated, SendsAndReceivesOfOnePlaceAreNumberedCountedAndHaveTheirOwnLength) {
    const Record record = record_of([] {
        begin_record();
        for (int round = 0; round < 5; ++round) {
            call(calls::MPI_Send, {word(data), 8, type_char, 1, 7, comm_world});
            call(
                calls::MPI_Recv, {word(data), 64, type_char, 1, 7, comm_world, fake_mpi::status_ignore},
                [&](Word* arguments) {
                    *reinterpret_cast<fake_mpi::Status*>(arguments[6]) = {10 + round, 0, 1, 7, 0};
                },
                100, 1);
        }
        call(calls::MPI_Send, {word(data), 8, type_char, 1, 8, comm_world});
        end_record();
    });
    const std::vector<layout::Event> events = record.events();
    ASSERT_EQ(events.size(), 11U);
    for (std::uint32_t round = 0; round < 5; ++round) {
        const layout::Event &sent = events[2 * round], &received = events[2 * round + 1];
        EXPECT_EQ(sent.sequence, round);
        EXPECT_EQ(sent.bytes, 8U);
        EXPECT_EQ(sent.kind, layout::send);
        EXPECT_EQ(received.sequence, round);
        EXPECT_EQ(received.bytes, 10U + round);
        EXPECT_EQ(received.peer, 1);
        EXPECT_EQ(received.end_ticks - received.start_ticks, 100U);
        EXPECT_EQ(received.site, events[1].site);
    }
    EXPECT_EQ(events[10].tag, 8);
    EXPECT_EQ(events[10].sequence, 0U);
    std::uint64_t calls_counted = 0, bytes = 0;
    for (const layout::Profile& row : record.profile()) calls_counted += row.count, bytes += row.bytes;
    EXPECT_EQ(calls_counted, 11U);
    EXPECT_EQ(bytes, 6U * 8 + 10 + 11 + 12 + 13 + 14);
}

TEST(Repeated, AHandleThatIsGivenAgainIsAnotherCommunicator) {
    const Record record = record_of([] {
        begin_record();
        for (const int other : {2, 3}) {
            split_off(other);
            for (int round = 0; round < 3; ++round)
                call(calls::MPI_Send, {word(data), 8, type_char, 1, 7, pair});
            std::uint32_t gone = pair;
            call(calls::MPI_Comm_free, {word(&gone)}, [&](Word*) { gone = 0x04000000; });
        }
        end_record();
    });
    std::vector<std::int32_t> peers;
    std::vector<std::uint32_t> numbers;
    for (const layout::Event& event : record.events())
        if ((event.kind & layout::send) != 0) peers.push_back(event.peer), numbers.push_back(event.sequence);
    EXPECT_EQ(peers, (std::vector<std::int32_t>{2, 2, 2, 3, 3, 3}));
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
}
