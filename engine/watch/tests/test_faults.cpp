// SPDX-License-Identifier: Apache-2.0
/// The record of programs that die, fork, run out of room, or have many threads.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "watch/file.hpp"
#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::in_process;
using record_file::make_folder;
using record_file::read_folder;
using record_file::Record;
using record_file::record_of;

namespace {

char data[64];

void send() {
    fake_mpi::call(calls::MPI_Send,
                   {fake_mpi::word(data), 8, fake_mpi::type_char, 1, 7, fake_mpi::comm_world});
}

std::uint64_t calls_in(const Record& record) {
    std::uint64_t calls = 0;
    for (const layout::Lane& lane : record.rows<layout::Lane>(layout::Is::lanes)) calls += lane.calls;
    return calls;
}

std::uint64_t counted_in(const Record& record) {
    std::uint64_t counted = 0;
    for (std::uint32_t lane = 0; record.section(layout::Is::profile, lane) != nullptr; ++lane)
        for (const layout::Profile& row : record.rows<layout::Profile>(layout::Is::profile, lane))
            counted += row.count;
    return counted;
}

}  // namespace

TEST(Faults, WhatWasWrittenWhenTheProcessWasKilledIsThere) {
    const Record record = record_of([] {
        begin_record();
        for (int one = 0; one < 1000; ++one) send();
        raise(SIGKILL);
    });
    EXPECT_EQ(record.header().state, layout::running);
    EXPECT_EQ(calls_in(record), 1000U);
    EXPECT_EQ(record.events().size(), 1000U);
    EXPECT_EQ(counted_in(record), 1000U);
    EXPECT_STREQ(record.header().library, "Fake MPI 1.0");
}

TEST(Faults, EndsWithoutFinalize) {
    const std::string folder = make_folder();
    const int status = in_process([] {
        begin_record();
        send();
        std::exit(7);
    });
    EXPECT_EQ(WEXITSTATUS(status), 7);
    const std::vector<Record> records = read_folder(folder);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].header().state, layout::ended);
}

TEST(Faults, NoRoomLeavesTheHeaderAndTheProgramRunsOn) {
    const std::string folder = make_folder();
    const int status = in_process([] {
        const rlimit limit{1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        begin_record();
        send();
        end_record();
        std::exit(7);
    });
    EXPECT_EQ(WEXITSTATUS(status), 7) << "signal " << WTERMSIG(status);
    const std::vector<Record> records = read_folder(folder);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].bytes.size(), layout::header_bytes);
    EXPECT_EQ(records[0].header().state, layout::no_room);
}

TEST(Faults, NoRoomForAHeaderLeavesNoFile) {
    const std::string folder = make_folder();
    testing::internal::CaptureStderr();
    const int status = in_process([] {
        const rlimit limit{2000, 2000};  // enough for a line on stderr
        setrlimit(RLIMIT_FSIZE, &limit);
        begin_record();
        send();
        std::exit(7);
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(read_folder(folder).size(), 0U);
}

TEST(Faults, AFolderThatIsNotThereIsOneLine) {
    setenv("SLOWPATH_WATCH", "/nonexistent/ranks", 1);
    testing::internal::CaptureStderr();
    begin_record();
    send();
    end_record();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("/nonexistent/ranks/"), std::string::npos) << said;
}

TEST(Faults, AChildLeavesTheRecordToItsParent) {
    const Record record = record_of([] {
        begin_record();
        send();
        layout::Header& held = header();
        in_process([&held] {
            for (int one = 0; one < 100; ++one) send();
            held.world_size = 77;  // whoever holds an address into it
            end_record();
        });
        send();
        raise(SIGKILL);
    });
    EXPECT_EQ(calls_in(record), 2U);
    EXPECT_EQ(record.header().state, layout::running);
    EXPECT_EQ(record.header().world_size, 4);
}

TEST(Faults, AChildWithAnMpiOfItsOwnHasAFileOfItsOwn) {
    const std::string folder = make_folder();
    in_process([] {
        begin_record();
        send();
        in_process([] {
            begin_record();
            for (int one = 0; one < 100; ++one) send();
            end_record();
        });
        end_record();
    });
    std::vector<Record> records = read_folder(folder);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(calls_in(records[0]) + calls_in(records[1]), 101U);
    EXPECT_EQ(counted_in(records[0]) + counted_in(records[1]), 101U);
}

/// As a program finds it that took the place of another one by exec.
TEST(Faults, AProcessThatHasARecordAlreadyMakesAnother) {
    const std::string folder = make_folder();
    in_process([&folder] {
        char host[65] = {};
        gethostname(host, sizeof host - 1);
        const std::string first = folder + "/" + host + "-" + std::to_string(getpid()) + ".watch";
        std::ofstream(first) << "the other program's";
        begin_record();
        send();
        end_record();
    });
    const std::vector<Record> records = read_folder(folder);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_TRUE(records[0].bytes == "the other program's" || records[1].bytes == "the other program's");
}

TEST(Faults, ManyThreadsCountEachCall) {
    constexpr int threads = 12, each = 20'000;
    const Record record = record_of([] {
        fake_mpi::world.thread_level = 3;
        begin_record();
        std::vector<std::thread> all;
        for (int one = 0; one < threads; ++one)
            all.emplace_back([] {
                std::uint32_t place = 0;
                for (int round = 0; round < each / 2; ++round) {
                    fake_mpi::call(
                        calls::MPI_Isend,
                        {fake_mpi::word(data), 8, fake_mpi::type_char, 1, 7, fake_mpi::comm_world,
                         fake_mpi::word(&place)},
                        [&](Word*) { place = 0x98000000U + static_cast<std::uint32_t>(gettid()); });
                    fake_mpi::call(calls::MPI_Wait, {fake_mpi::word(&place), fake_mpi::status_ignore},
                                   [&](Word*) { place = fake_mpi::request_null; });
                }
            });
        for (std::thread& one : all) one.join();
        end_record();
    });
    EXPECT_EQ(calls_in(record), std::uint64_t{threads} * each);
    EXPECT_EQ(counted_in(record), std::uint64_t{threads} * each);
    EXPECT_EQ(record.rows<layout::CallRow>(layout::Is::calls)[calls::MPI_Isend].calls,
              std::uint64_t{threads} * each / 2);
    EXPECT_EQ(record.rows<layout::Lane>(layout::Is::lanes).size(), 8U);
    EXPECT_LE(record.bytes.size(), layout::most_bytes);
}
