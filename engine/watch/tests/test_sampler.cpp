// SPDX-License-Identifier: Apache-2.0
/// What a rank does where it makes no call is seen, and the program sees nothing of who looks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "watch/observer.hpp"
#include "watch/sampler.hpp"
#include "watch/sites.hpp"
#include "watch/tests/record_file.hpp"
#include "watch/ticks.hpp"

using namespace slowpath::watch;
using record_file::in_process;
using record_file::Record;
using record_file::recorded;

namespace {

constexpr std::uint64_t ms = 1'000'000;

void compute(std::uint64_t for_ns) {
    for (const std::uint64_t end = monotonic_ns() + for_ns; monotonic_ns() < end;) {
    }
}

/// For so long on a processor.
[[gnu::noinline]] void work(std::uint64_t for_ns) {
    const std::uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + for_ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        for (volatile int step = 0; step < 100'000; step = step + 1) {
        }
}

int difference(const void* value, const void* other) {
    return *static_cast<const int*>(value) - *static_cast<const int*>(other);
}

[[gnu::noinline]] void sort_again(std::uint64_t for_ns) {
    std::vector<unsigned> values(100'000);
    const std::uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + for_ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
        for (unsigned i = 0; i < values.size(); ++i) values[i] = i * 7919 % 100'000;
        std::qsort(values.data(), values.size(), sizeof values[0], difference);
    }
}

bool ends_soon() {
    for (int turn = 0; turn < 500 && sampling_thread() != 0; ++turn) usleep(10'000);
    return sampling_thread() == 0;
}

}  // namespace

TEST(Sampler, SeesWhatAThreadDoesBetweenItsCalls) {
    const Record record = recorded([] {
        usleep(400'000);
        compute(1500 * ms);  // the thread that samples gives way to others
        const int nowhere = open("/dev/null", O_WRONLY);
        const std::vector<char> text(1 << 20);
        if (write(nowhere, text.data(), text.size()) < 0) std::_Exit(1);
        compute(1500 * ms);
    });
    const auto samples = record.rows<layout::Sample>(layout::Is::samples);
    ASSERT_GT(samples.size(), 5U);
    EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end(),
                               [](const auto& a, const auto& b) { return a.ticks < b.ticks; }));
    const auto count = [&](auto what) { return std::count_if(samples.begin(), samples.end(), what); };
    const auto sleeps = count([](const layout::Sample& one) {
        return one.state == 'S' &&
               (one.system_call == SYS_nanosleep || one.system_call == SYS_clock_nanosleep ||
                one.system_call == layout::refused);
    });
    EXPECT_GT(sleeps, 1);
    EXPECT_GT(count([](const layout::Sample& one) { return one.state == 'R'; }), 1);
    EXPECT_GE(samples.back().ran_ns, samples.front().ran_ns);
    EXPECT_GE(samples.back().minor_faults, samples.front().minor_faults + 250) << "1 MiB was touched";
    EXPECT_TRUE(samples.back().writes == 0 || samples.back().written_bytes >= 1U << 20);
}

TEST(Sampler, SeesWhereAThreadComputes) {
    const Record record = recorded([] { work(400 * ms); });
    const auto& head = record.header();
    const auto addresses = record.rows<layout::Address>(layout::Is::addresses);
    if (head.address_errno != 0) {
        EXPECT_TRUE(addresses.empty());
        GTEST_SKIP() << "perf_event_open is refused: " << head.address_errno;
    }
    ASSERT_GT(addresses.size(), 20U);
    EXPECT_LE(addresses.size() * head.address_period_ns, 1000 * ms);
    EXPECT_TRUE(std::is_sorted(addresses.begin(), addresses.end(),
                               [](const auto& a, const auto& b) { return a.monotonic_ns < b.monotonic_ns; }));
    const auto from = reinterpret_cast<std::uintptr_t>(work);
    const auto seen = std::count_if(addresses.begin(), addresses.end(), [&](const layout::Address& one) {
        return one.address >= from && one.address < from + 1024;
    });
    EXPECT_GT(2 * seen, static_cast<std::ptrdiff_t>(addresses.size()));
}

TEST(Sampler, ACallerIsBehindACallAndNoPointerToAFunction) {
    const Record record = recorded([] { sort_again(600 * ms); });
    const auto from = reinterpret_cast<std::uintptr_t>(sort_again);
    std::ptrdiff_t in_qsort = 0, known = 0, pointers = 0;
    for (const layout::Address& row : record.rows<layout::Address>(layout::Is::addresses)) {
        if (is_own(row.address)) continue;
        const auto calls = [&](std::uint64_t caller) { return caller > from && caller < from + 1024; };
        ++in_qsort, known += std::any_of(std::begin(row.callers), std::end(row.callers), calls);
        pointers += std::ranges::count(row.callers, reinterpret_cast<std::uintptr_t>(difference));
    }
    EXPECT_TRUE((in_qsort > 5 && 4 * known >= in_qsort) || record.header().address_errno != 0) << in_qsort;
    EXPECT_EQ(pointers, 0);
}

TEST(Sampler, TheLastOfManyLibrariesIsTheProgramsOwn) {
    const std::string folder = record_file::make_folder();
    const int status = in_process([] {
        begin_record();
        const int self = open("/proc/self/exe", O_RDONLY);
        const auto page_bytes = static_cast<std::size_t>(getpagesize());
        std::vector<std::uintptr_t> libraries;
        for (int count = 0; count < 300; ++count)  // each first page alone: neighbours don't merge
            libraries.push_back(reinterpret_cast<std::uintptr_t>(
                mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0)));
        note_modules();
        if (!std::all_of(libraries.begin(), libraries.end(), is_own)) std::_Exit(1);
        if (is_own(reinterpret_cast<std::uintptr_t>(open))) std::_Exit(2);
    });
    record_file::read_folder(folder);
    EXPECT_EQ(status, 0);
}

TEST(Sampler, TheProgramsThreadsAndFilesAreItsOwn) {
    const std::string folder = record_file::make_folder();
    const int status = in_process([] {
        int ends[2];
        if (pipe(ends) != 0) std::_Exit(1);
        begin_record();
        if (sampling_thread() == 0) std::_Exit(0);  // the kernel does not let it
        usleep(50'000);
        const int next = open("/dev/null", O_RDONLY);
        if (next != ends[1] + 1) std::_Exit(2);
        close(ends[1]);
        char byte;
        if (read(ends[0], &byte, 1) != 0) std::_Exit(3);
        if (in_process([] { std::_Exit(sampling_thread() == 0 ? 0 : 1); }) != 0) std::_Exit(4);
        end_record();
        if (!ends_soon()) std::_Exit(5);
    });
    record_file::read_folder(folder);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Sampler, AProgramThatBecomesAnotherOneOrEndsIsNotHeldUp) {
    const std::string folder = record_file::make_folder();
    for (const bool becomes_another : {true, false})
        EXPECT_EQ(in_process([=] {
                      begin_record();
                      usleep(20'000);
                      if (becomes_another) execl("/bin/true", "true", nullptr);
                      std::_Exit(0);
                  }),
                  0);
    record_file::read_folder(folder);
}
