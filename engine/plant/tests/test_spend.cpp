// SPDX-License-Identifier: Apache-2.0
// Where time goes is what the kernel counts, and never an absolute time: this machine may be busy.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plant/launch.hpp"
#include "plant/spend.hpp"

using namespace slowpath::plant;

namespace {

struct Used {
    double user_s;
    double system_s;
    long faults;
};

Used used() {
    rusage now{};
    getrusage(RUSAGE_THREAD, &now);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {seconds(now.ru_utime), seconds(now.ru_stime), now.ru_minflt};
}

constexpr std::int64_t each_ns = 50'000'000;
constexpr double enough_s = 0.4;  // the kernel counts in ticks of up to 10 ms: that many are no chance

/// What was used of the processor in some spells, at least; on a busy machine more spells are needed for it.
Used spent(Place place, double least_s) {
    const Used before = used();
    Used more{};
    do {
        const std::int64_t end_ns = now_ns() + each_ns;
        spend_until(end_ns, place);
        EXPECT_GE(now_ns(), end_ns);
        const Used after = used();
        more = {after.user_s - before.user_s, after.system_s - before.system_s, after.faults - before.faults};
    } while (more.user_s + more.system_s < least_s);
    return more;
}

TEST(PlantSpend, TimeGoesWhereItIsSaidToGo) {
    const Used user = spent(Place::user, enough_s);
    const Used kernel = spent(Place::kernel, enough_s);
    const Used waiting = spent(Place::waiting, 0);
    EXPECT_GT(user.user_s, 5 * user.system_s);
    EXPECT_GT(kernel.system_s, kernel.user_s);
    EXPECT_GT(kernel.faults, 1000);
    EXPECT_LT(waiting.user_s + waiting.system_s, 0.5e-9 * each_ns);
}

TEST(PlantSpend, WhatIsMadeColdIsStillThere) {
    static char memory[10000];
    memory[9000] = 7;
    make_cold(memory + 1, 9001);
    EXPECT_EQ(memory[9000], 7);
}

TEST(PlantLaunch, TheRanksOfALaunchShareANumber) {
    unsetenv("PMIX_NAMESPACE");
    EXPECT_EQ(launch_number(), launch_number());
    const std::uint64_t before = launch_number();
    setenv("SLOWPATH_PLANT_LAUNCH", "first", 1);
    const std::uint64_t first = launch_number();
    setenv("SLOWPATH_PLANT_LAUNCH", "second", 1);
    EXPECT_TRUE(first != before && first != launch_number());
    unsetenv("SLOWPATH_PLANT_LAUNCH");
}

}  // namespace
