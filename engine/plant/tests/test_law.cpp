// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "plant/allocations.hpp"
#include "plant/law.hpp"

using namespace slowpath::plant;

namespace {

TEST(PlantLaw, WordsAreRead) {
    Law law;
    EXPECT_EQ(parse("pages cost_s=2.1e-6 phase=every side=both", law), nullptr);
    EXPECT_TRUE(law.kind == Kind::pages && law.cost_s == 2.1e-6 && law.every && law.side == Side::both);
    EXPECT_EQ(parse("gate n=5 cost_s=1e-5", law), nullptr);
    EXPECT_TRUE(law.kind == Kind::gate && law.n == 5 && !law.every && law.side == Side::send);
    EXPECT_EQ(parse("small_pages", law), nullptr);
}

TEST(PlantLaw, WhatIsWrongIsSaid) {
    Law law;
    for (const char* text :
         {"", "paging cost_s=1", "pages", "gate cost_s=1e-6", "pages cost_s=-1", "pages cost_s=1s",
          "pages cost_s=1 phase=late", "pages cost_s=1 side=left", "pages cost=1"})
        EXPECT_NE(parse(text, law), nullptr);
}

TEST(PlantLaw, TheLargestPageThatDividesALengthCounts) {
    constexpr std::uint64_t mebibyte = 1024 * 1024;
    EXPECT_EQ(page_of(2 * mebibyte), 2 * mebibyte);
    EXPECT_EQ(page_of(2 * mebibyte + 1), 4096);
    EXPECT_EQ(page_of(2 * mebibyte - 4095), 2 * mebibyte);
    EXPECT_EQ(page_of(3 * mebibyte), 64 * 1024);
    EXPECT_EQ(page_of(64 * 1024 + 4096), 4096);
}

TEST(PlantLaw, UsesAreCountedByMappingAndCall) {
    static char memory[3][4096];
    for (auto& one : memory) note_mapping(one, sizeof one);
    EXPECT_EQ(use_mapping(memory[0] + 7, Call::send).earlier, 0);
    EXPECT_EQ(use_mapping(memory[0], Call::receive).earlier, 0);
    EXPECT_EQ(use_mapping(memory[1], Call::send).newer, 1);
    EXPECT_EQ(use_mapping(memory[2], Call::send).earlier, 0);
    const Use again = use_mapping(memory[0], Call::send);
    EXPECT_TRUE(again.known && again.bytes == 4096 && again.earlier == 1 && again.newer == 2);
    forget_mappings(memory[0], sizeof memory[0]);
    EXPECT_FALSE(use_mapping(memory[0], Call::send).known);
    EXPECT_EQ(use_mapping(memory[1], Call::send).newer, 1);
}

}  // namespace
