// SPDX-License-Identifier: Apache-2.0
/// The record of a program whose file somebody truncates: the program runs on, and SIGBUS stays the
/// program's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using record_file::in_process;
using record_file::make_folder;
using record_file::read_folder;

namespace {

char data[64];

void send(int tag = 7) {
    fake_mpi::call(calls::MPI_Send,
                   {fake_mpi::word(data), 8, fake_mpi::type_char, 1, Word(tag), fake_mpi::comm_world});
}

void truncate_records(const std::string& folder, off_t bytes) {
    DIR* const open = opendir(folder.c_str());
    while (const dirent* entry = readdir(open))
        if (entry->d_name[0] != '.' && truncate((folder + "/" + entry->d_name).c_str(), bytes) != 0) abort();
    closedir(open);
}

/// @return Its exit code; -1: a signal ended it.
int exit_code_of(const std::function<void(const std::string&)>& does) {
    const std::string folder = make_folder();
    const int status = in_process([&] { does(folder); });
    read_folder(folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A byte of a file that is no longer there.
volatile char* fault() {
    char name[] = "/tmp/watch-fault-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, 4096) != 0) abort();
    void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 0) != 0) abort();
    return static_cast<volatile char*>(memory);
}

volatile sig_atomic_t seen = 0;
volatile char* expected = nullptr;
void on_bus(int, siginfo_t* info, void*) {
    const bool is_mine = info->si_code <= 0 || info->si_addr == expected;
    _exit(is_mine ? 40 + seen : 1);
}

void take_bus() {
    struct sigaction mine {};
    mine.sa_sigaction = on_bus;
    mine.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &mine, nullptr);
}

}  // namespace

TEST(Guard, TheProgramRunsOnWithoutItsRecord) {
    for (const off_t bytes : {off_t{0}, off_t{4096}, off_t{1} << 20})
        EXPECT_EQ(exit_code_of([bytes](const std::string& folder) {
                      begin_record();
                      for (int one = 0; one < 1000; ++one) send(one);
                      truncate_records(folder, bytes);
                      for (int one = 0; one < 100'000; ++one) send(one);
                      end_record();
                      std::exit(7);
                  }),
                  7)
            << bytes;
}

TEST(Guard, ThreadsRunOn) {
    EXPECT_EQ(exit_code_of([](const std::string& folder) {
                  fake_mpi::world.thread_level = 3;
                  begin_record();
                  std::vector<std::thread> all;
                  static std::atomic<bool> is_over{false};
                  for (int one = 0; one < 10; ++one)
                      all.emplace_back([] {
                          for (int round = 0; round < 20'000 || !is_over; ++round) send(round);
                      });
                  truncate_records(folder, 0);
                  is_over = true;
                  for (std::thread& one : all) one.join();
                  end_record();
                  std::exit(7);
              }),
              7);
}

TEST(Guard, AFaultOfTheProgramIsItsOwn) {
    EXPECT_EQ(exit_code_of([](const std::string&) {
                  take_bus();
                  begin_record();
                  expected = fault();
                  seen = 1;
                  *expected = 1;
              }),
              41);
    EXPECT_EQ(exit_code_of([](const std::string&) {
                  begin_record();
                  take_bus();  // later than ours
                  raise(SIGBUS);
              }),
              40);
    EXPECT_EQ(exit_code_of([](const std::string&) {
                  take_bus();
                  begin_record();
                  raise(SIGBUS);
              }),
              40);
}

/// Ended by the signal, as without a watch.
TEST(Guard, WithoutAHandlerTheProgramEndsBySigbus) {
    for (const bool is_sent : {true, false}) {
        const std::string folder = make_folder();
        const int status = in_process([is_sent] {
            begin_record();
            if (is_sent)
                raise(SIGBUS);
            else
                *fault() = 1;
        });
        read_folder(folder);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
    }
}

TEST(Guard, LeavesNothingBehind) {
    EXPECT_EQ(exit_code_of([](const std::string&) {
                  struct sigaction there {};
                  begin_record();
                  end_record();
                  sigaction(SIGBUS, nullptr, &there);
                  std::exit(there.sa_handler == SIG_DFL ? 7 : 1);
              }),
              7);
    EXPECT_EQ(exit_code_of([](const std::string&) {
                  signal(SIGBUS, SIG_IGN);
                  begin_record();
                  struct sigaction there {};
                  sigaction(SIGBUS, nullptr, &there);
                  std::exit(there.sa_handler == SIG_IGN ? 7 : 1);
              }),
              7);
}
