// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "plant/cost.hpp"

using namespace slowpath::plant;

namespace {

constexpr double mebibyte = 1024 * 1024;

/// The second message of 1000 bytes, 8 bytes off a cache line, from an allocation of 2 MiB.
Facts usual() {
    Facts facts;
    facts[Quantity::bytes] = 1000;
    facts[Quantity::allocation] = 2 * mebibyte;
    facts[Quantity::start] = 4096 * 16 + 8;
    facts[Quantity::use] = 2;
    facts[Quantity::others] = 3;
    facts[Quantity::index] = 6;
    facts[Quantity::rank] = 0;
    facts[Quantity::peer] = 1;
    facts.now_s = 10;
    facts.previous_s = 9.9;
    return facts;
}

/// Seconds of one clause; 0 where it does not concern the call.
double paid_s(const std::string& text, const Facts& facts) {
    Plants plants;
    EXPECT_EQ(parse(text.c_str(), plants), nullptr) << text;
    return concerns(plants.clauses[0], 0, facts) ? cost_s(plants.clauses[0], facts) : 0;
}

TEST(PlantCost, ConditionsHoldOrNot) {
    for (const char* text : {"", "bytes>999", "bytes<1001", "bytes=1000", "use=2", "use>1", "others>2",
                             "index%3=0", "index%4=2", "start%64", "start%4=0", "allocation%2097152=0",
                             "rank=0 peer=1", "bytes>8 bytes<4096 start%4096", "call=both"})
        EXPECT_EQ(paid_s(std::string("cost_s=2 ") + text, usual()), 2) << text;
    for (const char* text : {"bytes>1000", "bytes<1000", "use=1", "use<2", "others>3", "index%4=0", "start%8",
                             "allocation%2097152", "rank=1", "call=receive", "call=put", "bytes>8 use=1"})
        EXPECT_EQ(paid_s(std::string("cost_s=2 ") + text, usual()), 0) << text;
}

TEST(PlantCost, NoConditionHoldsOfWhatIsNotKnown) {
    Facts facts = usual();
    facts[Quantity::allocation] = -1;
    for (const char* text : {"allocation<4096", "allocation%4096", "allocation>0"})
        EXPECT_EQ(paid_s(std::string("cost_s=2 ") + text, facts), 0) << text;
    EXPECT_EQ(paid_s("cost_s=2 per=page", facts), 0);
}

TEST(PlantCost, ACostIsPaidForEachOfItsUnits) {
    Facts facts = usual();
    facts.blocks = 5;
    facts.queue = 7;
    facts.age_s = 0.5;
    EXPECT_EQ(paid_s("cost_s=2 per=byte", facts), 2000);
    EXPECT_EQ(paid_s("cost_s=2 per=allocation", facts), 4 * mebibyte);
    EXPECT_EQ(paid_s("cost_s=2 per=page", facts), 2);
    EXPECT_EQ(paid_s("cost_s=2 per=65536", facts), 64);
    EXPECT_EQ(paid_s("cost_s=2 per=block", facts), 10);
    EXPECT_EQ(paid_s("cost_s=2 per=queue", facts), 14);
    EXPECT_EQ(paid_s("cost_s=2 per=index", facts), 12);
    EXPECT_EQ(paid_s("cost_s=2 per=second", facts), 1);
    facts[Quantity::allocation] = 2 * mebibyte + 1;
    EXPECT_EQ(paid_s("cost_s=1 per=page", facts), 513);
    EXPECT_EQ(paid_s("cost_s=1 per=65536", facts), 33);
}

TEST(PlantCost, TheLargestPageThatDividesALengthCounts) {
    constexpr std::uint64_t two_mebibytes = 2 * 1024 * 1024;
    EXPECT_EQ(page_of(two_mebibytes), two_mebibytes);
    EXPECT_EQ(page_of(two_mebibytes + 1), 4096);
    EXPECT_EQ(page_of(two_mebibytes - 4095), two_mebibytes);
    EXPECT_EQ(page_of(3 * 1024 * 1024), 64 * 1024);
    EXPECT_EQ(page_of(64 * 1024 + 4096), 4096);
}

TEST(PlantCost, TheFirstCallOfAPeriodPays) {
    Facts facts = usual();
    facts.previous_s = 9.99;
    EXPECT_EQ(paid_s("cost_s=2 period_s=0.1", facts), 2);
    facts.previous_s = 10.01;
    facts.now_s = 10.02;
    EXPECT_EQ(paid_s("cost_s=2 period_s=0.1", facts), 0);
}

TEST(PlantCost, AVariableMustBeSet) {
    Facts facts = usual();
    EXPECT_EQ(paid_s("cost_s=2 environment=THIS", facts), 0);
    facts.set[0] = true;
    EXPECT_EQ(paid_s("cost_s=2 environment=THIS", facts), 2);
}

TEST(PlantCost, ACoinFallsOnceALaunchAndAChanceOnceACall) {
    int launches = 0, messages = 0;
    double exponential_s = 0;
    Facts facts = usual();
    for (std::uint64_t number = 1; number <= 10000; ++number) {
        facts.launch = number;
        facts[Quantity::index] = 6;
        const bool pays = paid_s("cost_s=1 coin=0.3 seed=5", facts) > 0;
        launches += pays;
        facts[Quantity::index] = static_cast<double>(number);
        EXPECT_EQ(paid_s("cost_s=1 coin=0.3 seed=5", facts) > 0, pays);
        messages += paid_s("cost_s=1 chance=0.1 seed=5", facts) > 0;
        exponential_s += paid_s("cost_s=2 law=exponential seed=5", facts);
    }
    // Four standard deviations of 10000 draws.
    EXPECT_NEAR(launches, 3000, 184);
    EXPECT_NEAR(messages, 1000, 120);
    EXPECT_NEAR(exponential_s / 10000, 2, 0.08);
}

TEST(PlantCost, WhatACallIsNotKnownToBeHoldsNever) {
    Facts facts = usual();
    for (const Quantity one : {Quantity::wildcard, Quantity::alloc_mem, Quantity::root, Quantity::in_place})
        facts[one] = -1;
    facts[Quantity::open] = 0;
    for (const char* const text : {"wildcard=0 cost_s=1", "alloc_mem=0 cost_s=1", "root<9 cost_s=1",
                                   "in_place=0 cost_s=1", "open>0 cost_s=1", "call=wait cost_s=1"})
        EXPECT_EQ(paid_s(text, facts), 0) << text;
    facts.call = Call::bcast;
    facts[Quantity::root] = 1;
    EXPECT_EQ(paid_s("call=bcast root>0 cost_s=2", facts), 2);
    EXPECT_EQ(paid_s("call=reduce root>0 cost_s=2", facts), 0);
}

}  // namespace
