// SPDX-License-Identifier: Apache-2.0
// Two processes of one node: a flag, bytes through shared memory, bytes read by the kernel; copies in one
// process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "tests/text.hpp"
#include "yardstick/copies.hpp"
#include "yardstick/pair.hpp"

using namespace slowpath::yardstick;
using slowpath::test::contains;

namespace {

double each_ns(const Timed& timed) {
    const auto least = *std::min_element(timed.samples_ns.begin(), timed.samples_ns.end());
    return static_cast<double>(least) / static_cast<double>(timed.operations);
}

/// Both ends in a process each.  @return What the first one measured.
std::vector<Timed> in_two_processes(std::size_t bytes,
                                    const std::function<std::vector<Timed>(SharedRegion&, Party)>& both) {
    SharedRegion region(bytes);
    const pid_t maker = getpid();
    const pid_t child = fork();
    if (child == 0) {
        // As another rank opens it, under /proc.
        int code = 1;
        try {
            SharedRegion opened(maker, region.descriptor(), bytes);
            both(opened, Party::second);
            code = 0;
        } catch (const std::exception& error) {
            std::fputs(error.what(), stderr);
        }
        _exit(code);
    }
    std::vector<Timed> found = both(region, Party::first);
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return found;
}

TEST(Pair, NumbersGoBothWays) {
    in_two_processes(64, [](SharedRegion& region, Party me) {
        for (std::int64_t i = 0; i < 1000; ++i) {
            const std::int64_t theirs = region.exchange(me, me == Party::first ? i : -i);
            if (theirs != (me == Party::first ? -i : i)) throw std::runtime_error("wrong number");
        }
        return std::vector<Timed>{};
    });
}

TEST(Pair, AFlagIsHandedOver) {
    const Timed flag = in_two_processes(
        64, [](SharedRegion& region, Party me) { return std::vector{hand_over(region, me)}; })[0];
    EXPECT_EQ(flag.name, "flag");
    EXPECT_EQ(flag.operations, 64);
    EXPECT_EQ(flag.samples_ns.size(), 15);
    EXPECT_GT(each_ns(flag), 0);
}

TEST(Pair, LongerMessagesTakeLongerByEachWay) {
    constexpr std::int64_t short_bytes = 4096, long_bytes = 4 << 20;
    std::array<double, 4> least;
    least.fill(1e18);
    const auto clear = [&] { return least[2] > 20 * least[0] && least[3] > 20 * least[1]; };
    // Other processes take the processor of either end away, and only ever add to a time.
    const auto begin = std::chrono::steady_clock::now();
    while (!clear() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
        const std::vector<Timed> found = in_two_processes(long_bytes, [](SharedRegion& region, Party me) {
            std::vector<Timed> all;
            for (const std::int64_t bytes : {short_bytes, long_bytes}) {
                all.push_back(copy_across(region, me, bytes));
                all.push_back(read_across(region, me, bytes));
            }
            return all;
        });
        ASSERT_EQ(found.size(), 4);
        for (std::size_t i = 0; i < 4; ++i) {
            // A process may not read another one everywhere; then it says so.
            if (found[i].reason) {
                EXPECT_TRUE(contains(*found[i].reason, "process_vm_readv: ") && found[i].samples_ns.empty());
                least[i] = i == 1 ? 1 : 100;
            } else {
                least[i] = std::min(least[i], each_ns(found[i]));
            }
        }
    }
    EXPECT_GT(least[2], 20 * least[0]);
    EXPECT_GT(least[3], 20 * least[1]);
}

TEST(Pair, MemoryOfNoProcessSaysWhy) {
    try {
        SharedRegion(getpid(), 987'654, 64);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_TRUE(contains(error.what(), "/fd/987654: No such file or directory"));
    }
}

TEST(Pair, AFileOfSomethingElseIsNotTouched) {
    try {
        SharedRegion(getpid(), STDERR_FILENO, 64);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_TRUE(contains(error.what(), "/fd/2: is another file"));
    }
}

TEST(Copies, TimeGrowsWithTheLength) {
    EXPECT_GT(each_ns(copy_warm(4 << 20)), 20 * each_ns(copy_warm(4096)));
}

TEST(Copies, ColdIsSlowerThanWarm) {
    // 64 lines from memory take at least ten times what they take from the first cache; twice is asked.
    constexpr std::int64_t bytes = 4096;
    double cold_ns = 1e18, warm_ns = 1e18;
    // Other processes take the processor away, and only ever add to a time.
    for (int attempt = 0; attempt < 50 && cold_ns < 2 * warm_ns + 1; ++attempt) {
        const Timed cold = copy_cold(bytes);
        if (cold.reason) GTEST_SKIP() << *cold.reason;
        cold_ns = attempt == 0 ? each_ns(cold) : std::min(cold_ns, each_ns(cold));
        warm_ns = std::min(warm_ns, each_ns(copy_warm(bytes)));
    }
    EXPECT_GT(cold_ns, 2 * warm_ns);
}

TEST(Copies, WithoutAGpuTheReasonIsGiven) {
    const Timed none = copy_on_gpus(64, {.from = 987, .to = 987});
    EXPECT_EQ(none.name, "gpu_copy");
    EXPECT_TRUE(none.samples_ns.empty());
    EXPECT_TRUE(none.reason && !none.reason->empty());
}

TEST(Copies, TheRecordSaysWhatWasMeasuredOrWhyNot) {
    Timed timed{"copy_across", 4096, 8, {500, 600}};
    EXPECT_EQ(
        line(timed, 0, 1),
        "yardstick \"rank\": 0, \"peer\": 1, \"name\": \"copy_across\", \"bytes\": 4096, \"operations\": 8, "
        "\"samples_ns\": [500,600], \"reason\": null\n");
    timed.samples_ns.clear();
    timed.reason = "no";
    EXPECT_TRUE(contains(line(timed, 0, 1), "\"samples_ns\": [], \"reason\": \"no\""));
}

}  // namespace
