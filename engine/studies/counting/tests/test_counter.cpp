// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "counting/counter.hpp"
#include "counting/hardware.hpp"
#include "known.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using namespace slowpath::counting;

namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Counter, CountsWhatWasCountedByHand) {
    char from[64] = "thirty-seven bytes, of which none is lost";
    char to[64] = "";
    EXPECT_EQ(count([] { known_nothing(); }).stepped, Numbers{1});
    EXPECT_EQ(count([] { known_ten(); }).stepped, Numbers{10});
    EXPECT_EQ(count([] { known_loop(1000); }).stepped, Numbers{2002});
    EXPECT_EQ(count([] { known_nested(); }).stepped, Numbers{14});
    EXPECT_EQ(count([] { known_alias(); }).stepped, Numbers{14});
    EXPECT_EQ(count([] { known_recursion(5); }).stepped, Numbers{23});
    const Count copied = count([&] { known_copy(to, from); });
    EXPECT_EQ(copied.stepped, Numbers{39});
    EXPECT_EQ(copied.retired, Numbers{3});
    EXPECT_EQ(std::memcmp(to, from, 37), 0);
    EXPECT_EQ(to[37], 0);
    const Count none = count([&] { known_copy_nothing(to, from); });
    EXPECT_EQ(none.stepped, Numbers{3});
    EXPECT_EQ(none.retired, Numbers{3});
}

TEST(Counter, TellsCallsApart) {
    const Count counted = count([] {
        for (int i = 1; i <= 3; ++i) known_loop(i);
        known_ten();
    });
    EXPECT_EQ(counted.stepped, (Numbers{4, 6, 8, 10}));
    EXPECT_EQ(counted.retired, counted.stepped);
    EXPECT_EQ(counted.method, "trap flag");
    EXPECT_GT(counted.region, 4 + 6 + 8 + 10);
    EXPECT_LT(counted.region, 4 + 6 + 8 + 10 + 100);
    EXPECT_EQ(counted.shares.size(), 2);
    EXPECT_EQ(counted.shares[0].function, "known_loop");
    EXPECT_EQ(counted.shares[0].instructions, 18);
    EXPECT_EQ(counted.shares[0].library, "libslowpath_known.so");
    EXPECT_EQ(counted.shares[1].function, "known_ten");
}

TEST(Counter, AnEmptyRegionHasNoInstructions) {
    const Count counted = count([] {});
    EXPECT_EQ(counted.region, 0);
    EXPECT_TRUE(counted.stepped.empty());
    EXPECT_TRUE(counted.shares.empty());
    EXPECT_EQ(count([] { asm volatile("nop\n\tnop\n\tnop"); }).region, 3);
}

TEST(Counter, ASystemCallLosesNoInstruction) {
    EXPECT_EQ(count([] { known_system_call(); }).stepped, Numbers{4});
}

TEST(Counter, BlockingAllSignalsDoesNotEndTheProcess) {
    sigset_t all, old;
    sigfillset(&all);
    const Count counted = count([&] {
        known_mask(SIG_SETMASK, &all, &old, 8);
        known_ten();
        known_mask(SIG_SETMASK, &old, nullptr, 8);
    });
    EXPECT_EQ(counted.stepped, (Numbers{4, 10, 4}));
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_TRUE(!sigismember(&now, SIGTRAP) && !sigismember(&now, SIGUSR1));
    count([&] { known_mask(SIG_SETMASK, &all, nullptr, 8); });
    pthread_sigmask(SIG_SETMASK, &old, &now);
    EXPECT_TRUE(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTRAP));
}

TEST(Counter, RefusesWhatItCannotCount) {
    EXPECT_TRUE(
        test::contains(test::thrown<EnvironmentFailure>([] { count([] { known_loop(10000); }, 1000); }),
                       "more than 1000 instructions"));
    EXPECT_TRUE(
        test::contains(test::thrown<EnvironmentFailure>([] { count([] { std::thread([] {}).join(); }); }),
                       "starts a thread"));
    EXPECT_TRUE(test::contains(
        test::thrown<std::runtime_error>([] { count([] { throw std::runtime_error("own"); }); }), "own"));
    EXPECT_EQ(count([] { known_ten(); }).stepped, Numbers{10});
}

TEST(Counter, SaysWhyItIsUnavailable) {
    EXPECT_EQ(unavailable(), std::nullopt);
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &trap, nullptr);
    EXPECT_TRUE(test::contains(unavailable().value_or(""), "blocked"));
    EXPECT_TRUE(test::contains(test::thrown<EnvironmentFailure>([] { count([] {}); }), "blocked"));
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    const auto old = std::signal(SIGTRAP, [](int) {});
    EXPECT_TRUE(test::contains(unavailable().value_or(""), "something else"));
    std::signal(SIGTRAP, old);
    EXPECT_EQ(unavailable(), std::nullopt);
}

TEST(Counter, TheHardwareAgreesWhereItCounts) {
    const auto times = [](int n) { return count_by_hardware([n] { known_loop(n); }); };
    const HardwareCount one = times(100000), two = times(200000);
    if (!one.instructions || !two.instructions) {
        EXPECT_FALSE(one.reason.empty());
        std::printf("no hardware counter: %s\n", one.reason.c_str());
        return;
    }
    // Twice as long is 200 000 more; an interrupt in between adds some.
    const auto more = static_cast<double>(*two.instructions - *one.instructions);
    EXPECT_TRUE(more > 199800 && more < 200200);
}

}  // namespace
