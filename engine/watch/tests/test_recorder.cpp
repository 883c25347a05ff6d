// SPDX-License-Identifier: Apache-2.0
/// What is recorded of messages and requests, with an MPI that does nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using fake_mpi::call;
using fake_mpi::comm_world;
using fake_mpi::request_null;
using fake_mpi::type_char;
using fake_mpi::word;
using record_file::Record;
using record_file::record_of;
using record_file::recorded;

namespace {

char data[4096];

void send(int peer, int tag, int bytes) {
    call(calls::MPI_Send, {word(data), Word(bytes), type_char, Word(peer), Word(tag), comm_world});
}

std::uint32_t post_receive(int source, int tag, std::uint32_t handle, std::uint32_t& place) {
    call(calls::MPI_Irecv,
         {word(data), sizeof data, type_char, Word(source), Word(tag), comm_world, word(&place)},
         [&](Word*) { place = handle; });
    return handle;
}

/// MPI_Wait whose status the program ignores.
void wait_for(std::uint32_t& place, int source, int tag, int bytes) {
    call(calls::MPI_Wait, {word(&place), fake_mpi::status_ignore}, [&](Word* arguments) {
        place = request_null;
        *reinterpret_cast<fake_mpi::Status*>(arguments[1]) = {bytes, 0, source, tag, 0};
    });
}

std::vector<layout::Event> done_of(const Record& record) {
    std::vector<layout::Event> done;
    for (const layout::Event& event : record.events())
        if ((event.kind & layout::done) != 0) done.push_back(event);
    return done;
}

}  // namespace

TEST(Recorder, NumbersMessagesOfEachStream) {
    const Record record = recorded([] {
        send(1, 7, 10), send(2, 7, 10), send(1, 8, 10), send(1, 7, 10), send(fake_mpi::proc_null, 7, 10),
            send(1, 7, 10);
    });
    std::vector<std::uint32_t> numbers;
    for (const layout::Event& event : record.events())
        if (event.peer != layout::proc_null) numbers.push_back(event.sequence);
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 0, 0, 1, 2}));
    EXPECT_EQ(record.header().state, layout::finalized);
    EXPECT_EQ(record.events()[4].bytes, 0U);
}

TEST(Recorder, ShowsTheCallThatNeverReturns) {
    const Record record = record_of([] {
        begin_record();
        call(calls::MPI_Barrier, {comm_world});
        fake_mpi::Status status{};
        call(
            calls::MPI_Recv, {word(data), sizeof data, type_char, 2, 9, comm_world, word(&status)},
            [](Word*) { _exit(0); }, 100, 5);
    });
    const auto rows = record.rows<layout::Current>(layout::Is::current);
    ASSERT_GE(rows.size(), 1U);
    EXPECT_EQ(rows[0].doing, layout::in_call);
    EXPECT_EQ(rows[0].call, calls::MPI_Recv);
    EXPECT_EQ(rows[0].source, 2);
    EXPECT_EQ(rows[0].peer, layout::none);
    EXPECT_EQ(rows[0].tag, 9);
    EXPECT_GT(rows[0].since_ticks, record.header().start_ticks);
    EXPECT_NE(rows[0].site, 0U);
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].calls, 1U);
}

TEST(Recorder, ShowsPollsInVainAsOneStay) {
    const auto poll = [](int times) {
        return record_of([times] {
            begin_record();
            std::uint32_t place = 0;
            int flag = 0;
            post_receive(1, 7, 0x98000001, place);
            for (int i = 0; i < times; ++i)
                call(
                    calls::MPI_Test, {word(&place), word(&flag), fake_mpi::status_ignore}, [](Word*) {},
                    100000);
            _exit(0);
        });
    };
    const Record record = poll(3);
    const auto row = record.rows<layout::Current>(layout::Is::current)[0];
    EXPECT_EQ(row.doing, layout::polling);
    EXPECT_EQ(row.requests, 1U);
    EXPECT_EQ(row.request, 1U);
    // Since the first one, which ended before the others began.
    EXPECT_LT(row.since_ticks + 100000, record.rows<layout::Lane>(layout::Is::lanes)[0].last_ticks + 1);
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].calls, 4U);
}

TEST(Recorder, KnowsWhatArrivedThoughTheProgramIgnoresTheStatus) {
    const Record record = recorded([] {
        std::uint32_t place = 0;
        post_receive(fake_mpi::any_source, fake_mpi::any_tag, 0x98000001, place);
        wait_for(place, 3, 42, 17);
    });
    const std::vector<layout::Event> done = done_of(record);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].peer, 3);
    EXPECT_EQ(done[0].tag, 42);
    EXPECT_EQ(done[0].bytes, 17U);
    EXPECT_EQ(done[0].sequence, 0U);
    EXPECT_EQ(done[0].request, 1U);
    EXPECT_TRUE(done[0].kind & layout::any_source_or_tag);
    for (const layout::Profile& row : record.profile())
        if (row.call == calls::MPI_Irecv) {
            EXPECT_EQ(row.count, 1U);
            EXPECT_EQ(row.bytes, 17U);
            EXPECT_EQ(row.peer, 3);
        }
}

/// A receive for any source that was posted earlier may have taken the message: nobody knows until it is
/// seen.
TEST(Recorder, SaysWhereANumberIsNotKnown) {
    const Record record = recorded([] {
        std::uint32_t any = 0, given = 0, later = 0;
        post_receive(fake_mpi::any_source, 5, 0x98000001, any);
        post_receive(2, 5, 0x98000002, given);
        wait_for(given, 2, 5, 1);  // first or second message of rank 2
        wait_for(any, 2, 5, 1);
        post_receive(2, 5, 0x98000003, later);
        wait_for(later, 2, 5, 1);
        post_receive(fake_mpi::any_source, 5, 0x98000001, any);
        post_receive(2, 5, 0x98000002, given);
        wait_for(any, 1, 5, 1);  // seen first: no doubt
        wait_for(given, 2, 5, 1);
    });
    std::vector<std::uint32_t> numbers;
    for (const layout::Event& event : done_of(record)) numbers.push_back(event.sequence);
    constexpr std::uint32_t unknown = layout::not_known;
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{unknown, unknown, 2, 0, 3}));
}

TEST(Recorder, FollowsHandlesThatAreUsedAgainOrShared) {
    const Record record = recorded([] {
        constexpr std::uint32_t complete =
            0x6c000000;  // one for all sends that are complete when they are made
        std::uint32_t places[3] = {};
        for (int at = 0; at < 3; ++at)
            call(calls::MPI_Isend,
                 {word(data), Word(at + 1), type_char, Word(at), 5, comm_world, word(&places[at])},
                 [&](Word*) { places[at] = complete; });
        call(calls::MPI_Waitall, {3, word(places), fake_mpi::status_ignore}, [&](Word*) {
            for (std::uint32_t& place : places) place = request_null;
        });
    });
    const std::vector<layout::Event> done = done_of(record);
    ASSERT_EQ(done.size(), 3U);
    for (std::uint32_t at = 0; at < 3; ++at) {
        EXPECT_EQ(done[at].request, at + 1);
        EXPECT_EQ(done[at].bytes, at + 1);
    }
}

TEST(Recorder, StartsAPersistentRequestAgainAndAgain) {
    const Record record = recorded([] {
        std::uint32_t request = 0;
        call(calls::MPI_Send_init, {word(data), 64, type_char, 1, 5, comm_world, word(&request)},
             [&](Word*) { request = 0x98000007; });
        for (int round = 0; round < 3; ++round) {
            call(calls::MPI_Start, {word(&request)});
            call(calls::MPI_Wait, {word(&request), fake_mpi::status_ignore});
        }
    });
    const std::vector<layout::Event> done = done_of(record);
    ASSERT_EQ(done.size(), 3U);
    for (std::uint32_t round = 0; round < 3; ++round) {
        EXPECT_EQ(done[round].sequence, round);
        EXPECT_EQ(done[round].request, round + 1);
    }
    std::uint64_t bytes = 0;
    for (const layout::Profile& row : record.profile()) bytes += row.bytes;
    EXPECT_EQ(bytes, 3U * 64);
}

TEST(Recorder, TestThatFindsNothingCompletesNothing) {
    const Record record = recorded([] {
        std::uint32_t place = 0;
        int flag = 0;
        fake_mpi::Status status{9, 0, 1, 5, 0};
        post_receive(1, 5, 0x98000001, place);
        call(calls::MPI_Test, {word(&place), word(&flag), word(&status)});
        call(calls::MPI_Test, {word(&place), word(&flag), word(&status)},
             [&](Word*) { flag = 1, place = request_null; });
    });
    ASSERT_EQ(done_of(record).size(), 1U);
    const std::vector<layout::Event> events = record.events();
    EXPECT_TRUE(events[1].kind & layout::found_nothing);
    EXPECT_FALSE(events[2].kind & layout::found_nothing);
}

TEST(Recorder, APollingLoopIsOneEvent) {
    const Record record = recorded([] {
        int flag = 0;
        fake_mpi::Status status{};
        for (int poll = 0; poll < 1000; ++poll)
            call(calls::MPI_Iprobe, {1, 5, comm_world, word(&flag), word(&status)}, [](Word*) {}, 0);
        send(1, 5, 1);
    });
    EXPECT_LT(record.events().size(),
              200U);  // more than two where another process took the processor in between
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].events_seen, 1001U);
}

TEST(Recorder, ALoopThatPollsAtSeveralPlacesIsOneEventOfEach) {
    const Record record = recorded([] {
        int flag = 0;
        std::uint32_t place = 0;
        fake_mpi::Status status{};
        post_receive(1, 7, 0x98000001, place);
        for (int poll = 0; poll < 1000; ++poll) {
            call(calls::MPI_Test, {word(&place), word(&flag), word(&status)}, [](Word*) {}, 0);
            call(calls::MPI_Iprobe, {1, 5, comm_world, word(&flag), word(&status)}, [](Word*) {}, 0);
        }
    });
    std::map<std::uint16_t, int> kept;
    for (const layout::Event& event : record.events()) ++kept[event.call];
    EXPECT_GE(kept[calls::MPI_Test], 1);
    EXPECT_GE(kept[calls::MPI_Iprobe], 1);
    EXPECT_LT(record.events().size(), 300U);
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].events_seen, 2001U);
}

TEST(Recorder, CountsEveryCallThoughTheProfileIsFull) {
    constexpr int peers = 6000;
    const Record record = record_of([] {
        fake_mpi::world.size = peers;
        begin_record();
        for (int round = 0; round < 2; ++round)
            for (int peer = 0; peer < peers; ++peer) send(peer, 7, 100);
        end_record();
    });
    const std::vector<layout::Profile> rows = record.profile();
    std::uint64_t calls = 0, bytes = 0, others = 0;
    for (const layout::Profile& row : rows) {
        calls += row.count, bytes += row.bytes;
        if (row.peer == layout::others) others += row.count;
    }
    EXPECT_EQ(calls, 2U * peers);
    EXPECT_EQ(bytes, 2U * peers * 100);
    EXPECT_GT(others, 0U);
    EXPECT_EQ(record.section(layout::Is::profile)->lost, others);
}

TEST(Recorder, LooksIntoLongMessages) {
    constexpr std::uint32_t messages = 40, pieces = messages / 2 * 16;
    using Counts = std::array<std::uint32_t, 4>;
    static std::uint64_t values[512];
    const auto counts = [](Word buffer, auto change) {
        for (std::uint64_t at = 0; at < 512; ++at) values[at] = at < 256 ? 0 : at;
        const Record record = recorded([&] {
            for (std::uint64_t message = 0; message < messages; ++message) {
                change(message);
                call(calls::MPI_Send, {buffer, sizeof values, type_char, 1, 7, comm_world});
            }
        });
        Counts sum{};
        for (const layout::Profile& row : record.profile())
            sum[0] += row.looked, sum[1] += row.zero, sum[2] += row.same, sum[3] += row.text;
        return sum;
    };
    const auto at_rest = [](std::uint64_t) {};
    EXPECT_EQ(counts(word(values), at_rest), (Counts{pieces, pieces / 2, pieces / 2}));
    const auto work = [](std::uint64_t message) {
        for (std::uint64_t at = 256; at < 512; ++at) values[at] = at * message;
    };
    EXPECT_EQ(counts(word(values), work), (Counts{pieces, pieces / 2, 0}));
    EXPECT_EQ(counts(word(values), [](std::uint64_t) { std::fill_n(values, 512, 7); }),
              (Counts{pieces, 0, 0}));
    const auto lines = [](std::uint64_t message) {
        for (std::uint64_t at = 0; at < 512; ++at)
            std::memcpy(values + at, std::to_string(1'000'000 + 512 * message + at).c_str(), 8);
    };
    EXPECT_EQ(counts(word(values), lines), (Counts{pieces, 0, 0, 2 * pieces})) << "numbers as text";
    const auto small = [](std::uint64_t message) {
        for (std::uint64_t at = 0; at < 512; ++at) values[at] = '0' + (message + at) % 8;
    };
    EXPECT_EQ(counts(word(values), small)[3], 0U) << "they have zeros between the bytes of digits";
    EXPECT_EQ(counts(4096, at_rest), Counts{}) << "there is no memory";
}

TEST(Recorder, GivesACommunicatorOneIdentityOnAllItsRanks) {
    constexpr Word halves = 0x84000001, twin = 0x84000002;
    std::vector<std::uint64_t> first, second;
    for (int rank = 0; rank < 4; ++rank) {
        const Record record = record_of([rank] {
            fake_mpi::world.rank = rank;
            const int base = rank / 2 * 2;
            fake_mpi::world.communicators = {{halves, {base, base + 1}}, {twin, {base, base + 1}}};
            begin_record();
            std::uint32_t made = 0;
            call(calls::MPI_Comm_split, {comm_world, Word(rank / 2), 0, word(&made)},
                 [&](Word*) { made = halves; });
            call(calls::MPI_Comm_split, {comm_world, Word(rank / 2), 0, word(&made)},
                 [&](Word*) { made = twin; });
            call(calls::MPI_Send, {word(data), 4, type_char, Word(1 - rank % 2), 7, twin});
            end_record();
        });
        const auto rows = record.rows<layout::Communicator>(layout::Is::communicators);
        ASSERT_EQ(rows.size(), 4U);
        first.push_back(rows[2].identity), second.push_back(rows[3].identity);
        EXPECT_EQ(record.events().back().peer, rank ^ 1);
        EXPECT_EQ(rows[2].members_offset == layout::not_known, rank < 2);  // 0, 1: the world's order
    }
    EXPECT_EQ(first[0], first[1]);
    EXPECT_EQ(first[2], first[3]);
    std::vector<std::uint64_t> all{first[0], first[2], second[0], second[2]};
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    EXPECT_NE(all[0], 0U);
}
