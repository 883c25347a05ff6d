// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plant/allocations.hpp"

using namespace slowpath::plant;

namespace {

TEST(PlantAllocations, UsesAreCountedByMappingAndCall) {
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

TEST(PlantAllocations, MemoryOfMpiIsKnownUntilItIsFreed) {
    static char memory[2][4096];
    note_alloc_mem(memory[0], sizeof memory[0]);
    EXPECT_TRUE(is_alloc_mem(memory[0]) && is_alloc_mem(memory[0] + 4095));
    EXPECT_FALSE(is_alloc_mem(memory[0] + 4096));
    forget_alloc_mem(memory[0] + 1);  // no base
    EXPECT_TRUE(is_alloc_mem(memory[0]));
    forget_alloc_mem(memory[0]);
    EXPECT_FALSE(is_alloc_mem(memory[0]));
}

}  // namespace
