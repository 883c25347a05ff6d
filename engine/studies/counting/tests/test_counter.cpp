// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "counting/counter.hpp"
#include "counting/names.hpp"
#include "counting/stepper.hpp"
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

TEST(Counter, KnowsRepeatedInstructions) {
    const auto repeated = [](std::array<std::uint8_t, 4> code) { return is_repeated(code.data()); };
    EXPECT_TRUE(repeated({0xf3, 0xa4, 0, 0}));         // rep movsb
    EXPECT_TRUE(repeated({0xf3, 0x48, 0xa5, 0}));      // rep movsq
    EXPECT_TRUE(repeated({0xf2, 0xae, 0, 0}));         // repne scasb
    EXPECT_TRUE(repeated({0x66, 0xf3, 0xab, 0}));      // rep stosw
    EXPECT_FALSE(repeated({0xa4, 0, 0, 0}));           // movsb
    EXPECT_FALSE(repeated({0xf3, 0xc3, 0, 0}));        // repz ret
    EXPECT_FALSE(repeated({0xf3, 0x90, 0, 0}));        // pause
    EXPECT_FALSE(repeated({0xf3, 0x0f, 0x1e, 0xfa}));  // endbr64
    EXPECT_FALSE(repeated({0xf2, 0x0f, 0x58, 0xc1}));  // addsd
}

[[gnu::noinline]] void function_with_a_name() {
    asm volatile("");
}

TEST(Counter, NamesComeFromTheProcess) {
    Names names(executable_mappings());
    const Place place = names.at(reinterpret_cast<std::uint64_t>(&function_with_a_name));
    EXPECT_TRUE(test::contains(place.library, "slowpath_test_counting_counter"));
    EXPECT_TRUE(test::contains(place.function, "function_with_a_name"));
    EXPECT_EQ(names.at(1).function, "?");
}

}  // namespace
