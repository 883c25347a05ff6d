// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "plant/clause.hpp"

using namespace slowpath::plant;

namespace {

TEST(PlantClause, WordsAreRead) {
    Plants plants;
    EXPECT_EQ(
        parse("call=receive bytes>8192 bytes<65536 start%64 index%7=3 cost_s=2.1e-6 per=byte place=kernel",
              plants),
        nullptr);
    ASSERT_EQ(plants.count, 1);
    const Clause& one = plants.clauses[0];
    EXPECT_TRUE(!one.called[0] && one.called[1] && one.cost_s == 2.1e-6);
    EXPECT_TRUE(one.per == Per::byte && one.place == Place::kernel && !one.exponential);
    ASSERT_EQ(one.count, 4);
    EXPECT_TRUE(one.conditions[1].relation == Relation::below && one.conditions[1].value == 65536);
    EXPECT_TRUE(one.conditions[2].relation == Relation::no_multiple &&
                one.conditions[2].quantity == Quantity::start);
    EXPECT_TRUE(one.conditions[3].relation == Relation::remainder && one.conditions[3].remainder == 3);
}

TEST(PlantClause, WhatIsNotSaidIsASendInUserSpaceAlways) {
    Plants plants;
    ASSERT_EQ(parse("cost_s=1e-3", plants), nullptr);
    const Clause& one = plants.clauses[0];
    EXPECT_TRUE(one.called[0] && !one.called[1] && one.count == 0);
    EXPECT_TRUE(one.chance == 1 && one.coin == 1 && one.per == Per::call && one.place == Place::user);
}

TEST(PlantClause, SeveralStandBehindSemicolons) {
    Plants plants;
    ASSERT_EQ(parse("cost_s=1e-3 per=262144;call=both place=cold ; small_pages; cpu=1", plants), nullptr);
    EXPECT_TRUE(plants.count == 2 && plants.small_pages && plants.cpu == 1);
    EXPECT_TRUE(plants.clauses[0].per == Per::granule && plants.clauses[0].granule == 262144);
    EXPECT_TRUE(plants.clauses[1].place == Place::cold && plants.clauses[1].called[1]);
    EXPECT_TRUE(plants.charges_by(Per::granule) && !plants.charges_by(Per::queue));
}

TEST(PlantClause, CallsOfEachKindAndWhatIsAskedOfThem) {
    Plants plants;
    ASSERT_EQ(parse("call=wait cost_s=1;call=receive wildcard=1 cost_s=1;call=bcast root>0 cost_s=1;"
                    "call=allreduce in_place=1 index%16=0 open>0 alloc_mem=1 cost_s=1",
                    plants),
              nullptr);
    const auto calls_only = [&](std::size_t clause, Call call) {
        for (std::size_t i = 0; i < calls; ++i)
            if (plants.clauses[clause].called[i] != (i == static_cast<std::size_t>(call))) return false;
        return true;
    };
    EXPECT_TRUE(calls_only(0, Call::wait) && calls_only(1, Call::receive));
    EXPECT_TRUE(calls_only(2, Call::bcast) && calls_only(3, Call::allreduce));
    EXPECT_TRUE(plants.looks_at(Quantity::wildcard) && plants.looks_at(Quantity::root));
    EXPECT_TRUE(plants.looks_at(Quantity::open) && plants.looks_at(Quantity::alloc_mem));
    EXPECT_FALSE(plants.looks_at(Quantity::idle_s));
}

TEST(PlantClause, WhatIsWrongIsSaid) {
    const std::string five_clauses = "cost_s=1;cost_s=1;cost_s=1;cost_s=1;cost_s=1";
    const std::string nine_conditions = "cost_s=1 use>1 use>1 use>1 use>1 use>1 use>1 use>1 use>1 use>1";
    const std::string long_word = "cost_s=1 environment=" + std::string(64, 'A');
    Plants plants;
    for (const std::string& text : {std::string(),
                                    std::string("paging cost_s=1"),
                                    std::string("use=1"),
                                    std::string("cost_s=-1"),
                                    std::string("cost_s=1s"),
                                    std::string("cost_s=nan"),
                                    std::string("cost_s=1;"),
                                    std::string("cost=1"),
                                    std::string("cost_s=1 call=left"),
                                    std::string("cost_s=1 call=waits"),
                                    std::string("cost_s=1 wildcards=1"),
                                    std::string("cost_s=1 place=heaven"),
                                    std::string("cost_s=1 per=0"),
                                    std::string("cost_s=1 per=1.5"),
                                    std::string("cost_s=1 bytes>"),
                                    std::string("cost_s=1 bytes>4k"),
                                    std::string("cost_s=1 bytes%0"),
                                    std::string("cost_s=1 idle_s%2"),
                                    std::string("cost_s=1 index%7=x"),
                                    std::string("cost_s=1 chance=2"),
                                    std::string("cost_s=1 coin=x"),
                                    std::string("cost_s=1 period_s=0"),
                                    std::string("cost_s=1 law=even"),
                                    std::string("cost_s=1 environment="),
                                    std::string("cost_s=1 seed=0.5"),
                                    std::string("cost_s=1 place=cold"),
                                    std::string("cost_s=1 cpu=0"),
                                    std::string("cpu=x"),
                                    five_clauses,
                                    nine_conditions,
                                    long_word})
        EXPECT_NE(parse(text.c_str(), plants), nullptr) << text;
}

}  // namespace
