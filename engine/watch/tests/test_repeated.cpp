// SPDX-License-Identifier: Apache-2.0
/// Sends and receives like an earlier one are recorded as if they were the first.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "watch/lanes.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using fake_mpi::call;
using fake_mpi::comm_world;
using fake_mpi::type_char;
using fake_mpi::word;
using record_file::Record;
using record_file::recorded;

namespace {

char data[64];
alignas(4096) char parts[4096];
constexpr Word pair = 0x84000001;

void split_off(int other) {
    fake_mpi::world.communicators = {{pair, {0, other}}};
    std::uint32_t made = 0;
    call(calls::MPI_Comm_split, {comm_world, 0, 0, word(&made)}, [&](Word*) { made = pair; });
}

constexpr std::uint64_t ticks_of_post(int message) {
    return 50 + static_cast<std::uint64_t>(message);
}

constexpr std::uint64_t ticks_of_posts(int rounds, int messages) {
    std::uint64_t sum = 0;
    for (int one = 0; one < messages; ++one) sum += ticks_of_post(one);
    return sum * static_cast<std::uint64_t>(rounds);
}

/// An exchange with rank 1 of 8 bytes each way, by requests that are complete when they are made: those of
/// sends all have one handle, as MPICH's have.
void exchange(std::uint32_t* requests, int messages) {
    constexpr std::uint32_t complete = 0xac000003;
    for (int one = 0; one < messages; ++one) {
        call(
            calls::MPI_Irecv,
            {word(parts + 8 * one), 8, type_char, 1, 7, comm_world, word(&requests[2 * one])},
            [&](Word*) { requests[2 * one] = 0x98000000 + static_cast<std::uint32_t>(one); },
            ticks_of_post(one), 1);
        call(
            calls::MPI_Isend,
            {word(parts + 8 * one), 8, type_char, 1, 7, comm_world, word(&requests[2 * one + 1])},
            [&](Word*) { requests[2 * one + 1] = complete; }, ticks_of_post(one), 2);
    }
    call(
        calls::MPI_Waitall, {2 * Word(messages), word(requests), fake_mpi::status_ignore},
        [&](Word* arguments) {
            auto* const statuses = reinterpret_cast<fake_mpi::Status*>(arguments[2]);
            for (int one = 0; one < messages; ++one) statuses[2 * one] = {8, 0, 1, 7, 0};
            for (int one = 0; one < 2 * messages; ++one) requests[one] = fake_mpi::request_null;
        },
        400, 3);
}

/// As a thread is that calls without a pause, in a window that is not kept.
void leave_window_out(bool is_busy) {
    Lane& lane = current_lane();
    lane.keeps_window = false;
    lane.window_end_ticks = UINT64_MAX;
    lane.is_busy = is_busy;
}

struct Counted {
    std::uint64_t count = 0, bytes = 0, ticks = 0;
};

Counted counted(const Record& record, Call number) {
    Counted all;
    for (const layout::Profile& row : record.profile()) {
        if (row.call != number) continue;
        all.count += row.count, all.bytes += row.bytes, all.ticks += row.ticks;
    }
    return all;
}

}  // namespace

TEST(Repeated, PartsOfAnArrayAreSentFromWhereTheyAre) {
    const Record record = recorded([] {
        for (int one = 0; one < 32; ++one)
            call(calls::MPI_Send, {word(parts + 8 * one), 8, type_char, 1, 7, comm_world});
    });
    const std::vector<layout::Event> events = record.events();
    ASSERT_EQ(events.size(), 32U);
    for (std::uint32_t one = 0; one < 32; ++one) {
        EXPECT_EQ(events[one].sequence, one);
        EXPECT_EQ(events[one].start_offset, (word(parts) + 8 * one) % (2 << 20));
        EXPECT_EQ(events[one].allocation, events[0].allocation);
    }
    EXPECT_EQ(counted(record, calls::MPI_Send).count, 32U);
    EXPECT_EQ(counted(record, calls::MPI_Send).bytes, 32U * 8);
}

TEST(Repeated, OfABusyThreadAllPostsAreCountedAndTheirTimeIsThatOfSome) {
    constexpr int rounds = 40, messages = 64;
    const Record record = recorded([&] {
        std::uint32_t requests[2 * messages];
        exchange(requests, 1);
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round) exchange(requests, messages);
    });
    constexpr std::uint64_t posts = rounds * messages + 1;
    std::uint64_t in_posts = 0;
    for (const Call number : {calls::MPI_Irecv, calls::MPI_Isend}) {
        const Counted all = counted(record, number);
        EXPECT_EQ(all.count, posts);
        EXPECT_EQ(all.bytes, posts * 8);
        const std::uint64_t truth = ticks_of_posts(rounds, messages);
        EXPECT_NE(all.ticks, truth + ticks_of_post(0)) << "all were timed";
        EXPECT_GE(all.ticks, truth * 8 / 10);
        EXPECT_LE(all.ticks, truth * 12 / 10);
        in_posts += all.ticks;
    }
    const Counted waits = counted(record, calls::MPI_Waitall);
    EXPECT_EQ(waits.ticks, 400U * (rounds + 1)) << "a call that may wait keeps its time";
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].call_ticks, waits.ticks + in_posts);
}

TEST(Repeated, WhatWasThinnedIsNumberedAndItsRequestsAreKnownToBeComplete) {
    constexpr int rounds = 40, messages = 64;
    const Record record = recorded([&] {
        std::uint32_t requests[2 * messages];
        exchange(requests, 1);
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round) exchange(requests, messages);
        current_lane().keeps_window = true;
        exchange(requests, 1);
    });
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    EXPECT_GT(lanes[0].thinned, 2U * rounds * messages * 8 / 10);
    EXPECT_EQ(lanes[0].calls, 2U * (rounds * messages + 2) + rounds + 2);
    const auto calls_made = record.rows<layout::CallRow>(layout::Is::calls);
    EXPECT_EQ(calls_made[calls::MPI_Isend].calls, std::uint64_t{rounds} * messages + 2);
    constexpr std::uint32_t last = rounds * messages + 1;
    std::uint32_t send = 0, receive = 0;
    for (const layout::Event& event : record.events()) {
        if ((event.kind & layout::send) != 0) send = event.sequence;
        if ((event.kind & layout::receive) != 0) receive = event.sequence;
    }
    EXPECT_EQ(send, last);
    EXPECT_EQ(receive, last);
    std::string text;
    for (const layout::Text one : record.rows<layout::Text>(layout::Is::text)) text += one.byte;
    EXPECT_NE(text.find("completed\t-1 0\n"), std::string::npos);
    std::uint64_t complete = 0;
    for (std::size_t at = 0; (at = text.find("completed\t", at)) != std::string::npos; ++at)
        complete += std::stoull(text.substr(text.find(' ', at)));
    EXPECT_EQ(complete, 2U * (rounds * messages + 2));
}

TEST(Repeated, APostThatWasInterruptedStandsForItself) {
    constexpr int posts = 800, interrupted = posts / 5;
    constexpr std::uint64_t usual_ticks = 50, interrupted_ticks = 1'000'000'000;
    const Record record = recorded([] {
        leave_window_out(true);
        std::uint32_t request = 0;
        for (int post = 0; post < posts; ++post)
            call(
                calls::MPI_Isend, {word(data), 8, type_char, 1, 7, comm_world, word(&request)},
                [&](Word*) { request = 0xac000003; }, post % 5 == 3 ? interrupted_ticks : usual_ticks, 1);
    });
    const Counted all = counted(record, calls::MPI_Isend);
    EXPECT_EQ(all.count, posts);
    EXPECT_GE(all.ticks, interrupted_ticks);
    EXPECT_LE(all.ticks, interrupted * interrupted_ticks + posts * usual_ticks);
}

TEST(Repeated, ThinnedReceivesOfAnotherLengthCountWithTheirOwn) {
    constexpr int rounds = 100;
    const Record record = recorded([] {
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round)
            call(
                calls::MPI_Recv, {word(data), 64, type_char, 1, 7, comm_world, fake_mpi::status_ignore},
                [&](Word* arguments) {
                    *reinterpret_cast<fake_mpi::Status*>(arguments[6]) = {10 + round % 2 * 30, 0, 1, 7, 0};
                },
                100, 1);
    });
    const Counted all = counted(record, calls::MPI_Recv);
    EXPECT_EQ(all.count, rounds);
    EXPECT_EQ(all.bytes, rounds / 2 * 10U + rounds / 2 * 40U);
    EXPECT_EQ(all.ticks, rounds * 100U) << "a receive may wait";
    std::uint64_t short_ones = 0;
    for (const layout::Profile& row : record.profile())
        if (row.size_class == std::bit_width(10U)) short_ones += row.count;
    EXPECT_EQ(short_ones, rounds / 2U);
    EXPECT_GT(record.rows<layout::Lane>(layout::Is::lanes)[0].thinned, rounds * 8U / 10);
}

namespace {

constexpr std::uint64_t usual_ticks = 200;

/// A test that finds something after `polls` in vain.
void test_until_done(int polls) {
    std::uint32_t request = 0x98000000;
    call(
        calls::MPI_Irecv, {word(data), 64, type_char, 1, 7, comm_world, word(&request)},
        [&](Word*) { request = 0x98000001; }, 100, 1);
    int flag = 0;
    for (int poll = 0; poll <= polls; ++poll)
        call(
            calls::MPI_Test, {word(&request), word(&flag), fake_mpi::status_ignore},
            [&](Word* arguments) {
                flag = poll == polls ? 1 : 0;
                if (flag == 0) return;
                request = fake_mpi::request_null;
                *reinterpret_cast<fake_mpi::Status*>(arguments[2]) = {24, 0, 1, 7, 0};
            },
            usual_ticks, 2);
}

std::uint64_t thinned(const Record& record) {
    return record.rows<layout::Lane>(layout::Is::lanes)[0].thinned;
}

}  // namespace

TEST(Repeated, PollsInVainAreThinnedUntilOneFindsSomething) {
    constexpr int polls = 1000;
    for (const bool is_kept : {false, true}) {
        const Record record = recorded([&] {
            if (!is_kept) leave_window_out(true);
            test_until_done(polls);
        });
        const Counted tests = counted(record, calls::MPI_Test);
        EXPECT_EQ(tests.count, polls + 1U);
        EXPECT_LE(tests.ticks, (polls + 1) * usual_ticks);
        EXPECT_GE(tests.ticks, polls * usual_ticks * 7 / 10) << "but for what it takes to read the clock";
        EXPECT_EQ(counted(record, calls::MPI_Irecv).bytes, 24U);
        EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].calls, polls + 2U);
        EXPECT_GT(thinned(record), polls * 9U / 10)
            << "one in some is timed, whether its window is kept or not";
    }
}

TEST(Repeated, ProbesForOtherTagsAreOneLoopAndThoseForOthersHaveTheirRow) {
    constexpr int rounds = 2000;
    int flag = 0;
    const Record record = recorded([&] {
        for (int round = 0; round < rounds; ++round)
            for (const Word source : {1, 2})
                call(
                    calls::MPI_Iprobe,
                    {source, Word(round % 300), comm_world, word(&flag), fake_mpi::status_ignore},
                    [](Word*) {}, 20, 2);
    });
    std::map<std::int32_t, std::uint64_t> by_peer;
    for (const layout::Profile& row : record.profile()) by_peer[row.peer] += row.count;
    EXPECT_EQ(by_peer, (std::map<std::int32_t, std::uint64_t>{{1, rounds}, {2, rounds}}));
    EXPECT_GT(thinned(record), 2U * rounds * 9 / 10);
}

TEST(Repeated, OfCallsThatMoveNothingSomeAreTimedWhereTimingThemWouldTakeLong) {
    constexpr int quick = 4000, slow = 100, rare = 10;
    const auto set = [](Call number, std::uint64_t ticks, int site) {
        call(number, {comm_world, 0}, [](Word*) {}, ticks, site);
    };
    const Record record = recorded([&] {
        for (int one = 0; one < quick; ++one) set(calls::MPI_Comm_set_errhandler, usual_ticks, 1);
        for (int one = 0; one < slow; ++one) set(calls::MPI_Comm_get_errhandler, 1'000'000, 2);
        for (int one = 0; one < rare; ++one) set(calls::MPI_Comm_get_info, usual_ticks, 3);
    });
    EXPECT_EQ(counted(record, calls::MPI_Comm_set_errhandler).count, quick);
    const std::uint64_t in_quick = counted(record, calls::MPI_Comm_set_errhandler).ticks;
    EXPECT_LE(in_quick, quick * usual_ticks);
    EXPECT_GE(in_quick, quick * usual_ticks * 7 / 10) << "but for what it takes to read the clock";
    EXPECT_EQ(counted(record, calls::MPI_Comm_get_errhandler).ticks, slow * 1'000'000U);
    EXPECT_EQ(counted(record, calls::MPI_Comm_get_info).ticks, rare * usual_ticks);
    EXPECT_GT(thinned(record), quick * 9U / 10);
    EXPECT_LT(thinned(record), quick) << "slow and rare ones are all timed";
    const auto lanes = record.rows<layout::Lane>(layout::Is::lanes);
    EXPECT_EQ(lanes[0].calls, quick + slow + rare);
    EXPECT_EQ(lanes[0].call_ticks, in_quick + slow * 1'000'000U + rare * usual_ticks);
    EXPECT_EQ(record.rows<layout::CallRow>(layout::Is::calls)[calls::MPI_Comm_set_errhandler].calls, quick);
}

TEST(Repeated, OfAThreadThatIsNotBusyEachPostHasItsTime) {
    const Record record = recorded([] {
        std::uint32_t requests[2 * 64];
        leave_window_out(false);
        for (int round = 0; round < 5; ++round) exchange(requests, 64);
    });
    for (const Call number : {calls::MPI_Irecv, calls::MPI_Isend}) {
        EXPECT_EQ(counted(record, number).count, 5U * 64);
        EXPECT_EQ(counted(record, number).ticks, ticks_of_posts(5, 64));
    }
}

TEST(Repeated, RequestsOfOneHandleAreEachTheirOwn) {
    const Record record = recorded([] {
        std::uint32_t requests[2 * 64];
        for (int round = 0; round < 3; ++round) exchange(requests, 64);
    });
    std::set<std::uint32_t> posted, done;
    for (const layout::Event& event : record.events()) {
        if ((event.kind & layout::send) == 0) continue;
        ((event.kind & layout::done) != 0 ? done : posted).insert(event.request);
    }
    EXPECT_EQ(posted.size(), 3U * 64);
    EXPECT_EQ(done, posted);
}

TEST(Repeated, SendsAndReceivesOfOnePlaceAreNumberedCountedAndHaveTheirOwnLength) {
    const Record record = recorded([] {
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
    const Record record = recorded([] {
        for (const int other : {2, 3}) {
            split_off(other);
            for (int round = 0; round < 3; ++round)
                call(calls::MPI_Send, {word(data), 8, type_char, 1, 7, pair});
            std::uint32_t gone = pair;
            call(calls::MPI_Comm_free, {word(&gone)}, [&](Word*) { gone = 0x04000000; });
        }
    });
    std::vector<std::int32_t> peers;
    std::vector<std::uint32_t> numbers;
    for (const layout::Event& event : record.events())
        if ((event.kind & layout::send) != 0) peers.push_back(event.peer), numbers.push_back(event.sequence);
    EXPECT_EQ(peers, (std::vector<std::int32_t>{2, 2, 2, 3, 3, 3}));
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
}

namespace {

constexpr Word window = 0xa0000007;

void make_window() {
    std::uint32_t made = 0;
    call(calls::MPI_Win_create, {word(parts), 64, 1, 0, comm_world, word(&made)},
         [&](Word*) { made = window; });
}

void put_and_unlock(int offset) {
    call(calls::MPI_Win_lock, {1, 2, 0, window}, [](Word*) {}, 60, 1);
    call(
        calls::MPI_Put, {word(parts + 8 * offset), 8, type_char, 2, Word(offset), 8, type_char, window},
        [](Word*) {}, 50, 2);
    call(calls::MPI_Win_unlock, {2, window}, [](Word*) {}, 70, 3);
}

}  // namespace

TEST(Repeated, OfABusyThreadOneSidedCallsAreCountedAndThoseThatWaitKeepTheirTime) {
    constexpr int rounds = 400;
    const Record record = recorded([] {
        make_window();
        put_and_unlock(0);
        leave_window_out(true);
        for (int round = 1; round < rounds; ++round) put_and_unlock(round % 64);
        current_lane().keeps_window = true;
        put_and_unlock(0);
    });
    EXPECT_EQ(counted(record, calls::MPI_Put).count, rounds + 1U);
    EXPECT_EQ(counted(record, calls::MPI_Put).bytes, (rounds + 1U) * 8);
    EXPECT_GE(counted(record, calls::MPI_Put).ticks, rounds * 50U * 8 / 10);
    EXPECT_LE(counted(record, calls::MPI_Put).ticks, rounds * 50U * 12 / 10);
    EXPECT_EQ(counted(record, calls::MPI_Win_lock).ticks, (rounds + 1) * 60U);
    EXPECT_EQ(counted(record, calls::MPI_Win_unlock).ticks, (rounds + 1) * 70U);
    EXPECT_GT(record.rows<layout::Lane>(layout::Is::lanes)[0].thinned, 3U * rounds * 8 / 10);
    for (const layout::Profile& row : record.profile())
        EXPECT_EQ(row.peer, row.call == calls::MPI_Win_create ? layout::none : 2);
    std::uint32_t epoch = 0;
    for (const layout::Event& event : record.events())
        if (event.call == calls::MPI_Put) epoch = event.sequence;
    EXPECT_EQ(epoch, rounds) << "each MPI_Win_unlock ends an epoch";
}

TEST(Repeated, AWindowOfTheSameHandleIsAnotherOne) {
    const Record record = recorded([] {
        for (const Word communicator : {pair, comm_world}) {
            if (communicator == pair) split_off(3);
            std::uint32_t made = 0;
            call(calls::MPI_Win_create, {word(parts), 64, 1, 0, communicator, word(&made)},
                 [&](Word*) { made = window; });
            leave_window_out(true);
            for (int put = 0; put < 100; ++put)
                call(calls::MPI_Put, {word(data), 8, type_char, 1, 0, 8, type_char, window});
            std::uint32_t gone = window;
            call(calls::MPI_Win_free, {word(&gone)}, [&](Word*) { gone = 0x20000000; });
        }
    });
    std::map<std::int32_t, std::uint64_t> puts;
    for (const layout::Profile& row : record.profile())
        if (row.call == calls::MPI_Put) puts[row.peer] += row.count;
    EXPECT_EQ(puts, (std::map<std::int32_t, std::uint64_t>{{1, 100}, {3, 100}}));
}

TEST(Repeated, OfAFileCollectiveCallsAloneAreEventsWithNumbers) {
    const Record record = recorded([] {
        std::uint32_t made = 0;
        call(calls::MPI_Barrier, {comm_world});
        call(calls::MPI_File_open, {comm_world, 0, 0, 0, word(&made)}, [&](Word*) { made = window; });
        for (const Call read : {calls::MPI_File_read_all, calls::MPI_File_read, calls::MPI_File_read_all})
            call(read, {window, word(parts), 8, type_char, 0});
        call(calls::MPI_File_close, {word(&made)}, [&](Word*) { made = 0; });
    });
    std::vector<std::uint32_t> numbers;
    for (const layout::Event& event : record.events()) numbers.push_back(event.sequence);
    EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 1, 1 << 16, (1 << 16) + 1, 2}));
}

TEST(Repeated, WhatGivesWayToAnotherCallIsCountedAsWhatItWas) {
    constexpr int tags = 2000, rounds = 20;
    const Record record = recorded([] {
        leave_window_out(true);
        for (int tag = 0; tag < tags; ++tag)
            for (int round = 0; round < rounds; ++round)
                call(calls::MPI_Send,
                     {word(data), Word(1 + tag % 2 * 63), type_char, 1, Word(tag), comm_world});
    });
    EXPECT_EQ(counted(record, calls::MPI_Send).count, std::uint64_t{tags} * rounds);
    EXPECT_EQ(counted(record, calls::MPI_Send).bytes, std::uint64_t{tags} * rounds / 2 * (1 + 64));
}

TEST(Repeated, ThinnedCollectivesKeepTheirNumbersBytesAndTimes) {
    constexpr int rounds = 200;
    int counts[] = {3, 3, 3, 3};
    const Record record = recorded([&] {
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round)
            for (const Word given : {word(parts), ~Word{0}})
                call(calls::MPI_Allreduce, {given, word(data), 8, type_char, 0, comm_world}, 1);
        for (int& count : counts) {
            count = 5;
            call(calls::MPI_Reduce_scatter, {word(parts), word(data), word(counts), type_char, 0, comm_world},
                 3);
        }
        current_lane().keeps_window = true;
        call(calls::MPI_Barrier, {comm_world});
    });
    const Counted all = counted(record, calls::MPI_Allreduce);
    EXPECT_EQ(all.count, 2U * rounds);
    EXPECT_EQ(all.bytes, 8U * 2 * rounds);
    EXPECT_EQ(all.ticks, 100U * 2 * rounds) << "each may wait";
    EXPECT_GT(thinned(record), 2U * rounds * 8 / 10);
    EXPECT_EQ(counted(record, calls::MPI_Reduce_scatter).bytes, 14U + 16 + 18 + 20);
    EXPECT_EQ(record.events().back().sequence, 2U * rounds + 4);
}

TEST(Repeated, ThinnedExchangesCountOnBothSides) {
    constexpr int rounds = 200;
    const auto exchange_with = [](int bytes) {
        call(
            calls::MPI_Sendrecv,
            {word(parts), 8, type_char, 1, 7, word(data), 64, type_char, 2, 5, comm_world,
             fake_mpi::status_ignore},
            [&](Word* arguments) {
                *reinterpret_cast<fake_mpi::Status*>(arguments[11]) = {bytes, 0, 2, 5, 0};
            },
            100, 1);
    };
    const Record record = recorded([&] {
        exchange_with(64);
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round) exchange_with(10 + round % 2 * 30);
        current_lane().keeps_window = true;
        exchange_with(64);
    });
    std::uint64_t sent = 0, arrived = 0, calls_sent = 0, calls_arrived = 0;
    for (const layout::Profile& row : record.profile()) {
        const bool is_arrival = row.peer == 2;
        (is_arrival ? arrived : sent) += row.bytes;
        (is_arrival ? calls_arrived : calls_sent) += row.count;
    }
    EXPECT_EQ(calls_sent, rounds + 2U);
    EXPECT_EQ(calls_arrived, rounds + 2U);
    EXPECT_EQ(sent, 8U * (rounds + 2));
    EXPECT_EQ(arrived, 64U * 2 + rounds / 2 * 50);
    EXPECT_EQ(counted(record, calls::MPI_Sendrecv).ticks, 100U * (rounds + 2));
    EXPECT_GT(thinned(record), rounds * 8U / 10);
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes)[0].events_seen, 2U * (rounds + 2));
    for (const layout::Event& event : {record.events().back(), *(record.events().end() - 2)})
        EXPECT_EQ(event.sequence, rounds + 1U);
}

TEST(Repeated, ThinnedReceivesFromAnyCountWithTheirSendersWhoseMessagesStayNumbered) {
    constexpr int rounds = 300;
    const auto take = [](int round) {
        const Word source(fake_mpi::any_source), tag(fake_mpi::any_tag);
        const auto say = [&](Word* status) {
            *reinterpret_cast<fake_mpi::Status*>(*status) = {8, 0, 1 + round % 3 / 2, 7, 0};
        };
        call(
            calls::MPI_Probe, {source, tag, comm_world, fake_mpi::status_ignore},
            [&](Word* arguments) { say(arguments + 3); }, 60, 1);
        call(
            calls::MPI_Recv, {word(data), 64, type_char, source, tag, comm_world, fake_mpi::status_ignore},
            [&](Word* arguments) { say(arguments + 6); }, 100, 2);
    };
    const Record record = recorded([&] {
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round) take(round);
        current_lane().keeps_window = true;
        for (const int round : {0, 2}) take(round);
    });
    std::map<std::pair<Call, std::int32_t>, std::uint64_t> taken;
    for (const layout::Profile& row : record.profile()) taken[{row.call, row.peer}] += row.count;
    for (const Call number : {calls::MPI_Probe, calls::MPI_Recv}) {
        EXPECT_EQ((taken[{number, 1}]), rounds / 3 * 2 + 1U);
        EXPECT_EQ((taken[{number, 2}]), rounds / 3 + 1U);
        EXPECT_EQ(counted(record, number).ticks, (rounds + 2U) * (number == calls::MPI_Probe ? 60 : 100));
    }
    EXPECT_EQ(counted(record, calls::MPI_Recv).bytes, (rounds + 2U) * 8);
    EXPECT_GT(thinned(record), 2U * rounds * 8 / 10);
    ASSERT_EQ(record.events().size(), 4U);
    EXPECT_EQ(record.events()[1].sequence, rounds / 3 * 2U);
    EXPECT_EQ(record.events()[3].sequence, rounds / 3 * 1U);
}

TEST(Repeated, OfABusyThreadPackingAndPostsOfCollectivesAreCountedAndTimedNowAndThen) {
    constexpr int rounds = 300;
    int position = 0;
    const Record record = recorded([&] {
        leave_window_out(true);
        for (int round = 0; round < rounds; ++round) {
            current_lane().keeps_window = true;  // packing brings no event that it could keep
            call(calls::MPI_Pack,
                 {word(parts), Word(8 + round % 2), type_char, word(data), 64, word(&position), comm_world});
            current_lane().keeps_window = false;
            std::uint32_t request = 0;
            call(calls::MPI_Iallreduce,
                 {word(parts), word(data), 8, type_char, 0, comm_world, word(&request)},
                 [&](Word*) { request = 0x98000001; });
            call(calls::MPI_Wait, {word(&request), fake_mpi::status_ignore},
                 [&](Word*) { request = fake_mpi::request_null; });
        }
        current_lane().keeps_window = true;
        call(calls::MPI_Barrier, {comm_world});
    });
    EXPECT_EQ(counted(record, calls::MPI_Pack).bytes, rounds / 2 * 17U);
    for (const Call number : {calls::MPI_Pack, calls::MPI_Iallreduce, calls::MPI_Wait}) {
        EXPECT_EQ(counted(record, number).count, rounds + 0U);
        EXPECT_EQ(counted(record, number).ticks, rounds * 100U);
    }
    EXPECT_EQ(counted(record, calls::MPI_Iallreduce).bytes, rounds * 8U);
    EXPECT_GT(thinned(record), 2U * rounds * 8 / 10);
    EXPECT_EQ(record.events().back().sequence, rounds + 0U);
}
