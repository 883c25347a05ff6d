// SPDX-License-Identifier: Apache-2.0
/// What flat.hpp says of a layout against a list of all its blocks.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "watch/flat.hpp"

namespace slowpath::watch {
namespace {

using Blocks = std::vector<Block>;

void append(Blocks& to, const Blocks& more, std::int64_t shift) {
    for (Block block : more) {
        block.begin += shift;
        if (!to.empty() && to.back().end() == block.begin)
            to.back().bytes += block.bytes;
        else
            to.push_back(block);
    }
}

void expect_same(const Flat& flat, const Blocks& blocks) {
    ASSERT_TRUE(flat.is_known);
    ASSERT_EQ(flat.blocks, blocks.size());
    if (blocks.empty()) return;
    std::int64_t begin = INT64_MAX, least = INT64_MAX, most = 0, bytes = 0;
    bool is_even = true;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        begin = std::min(begin, blocks[i].begin);
        least = std::min(least, blocks[i].bytes);
        most = std::max(most, blocks[i].bytes);
        bytes += blocks[i].bytes;
        if (i > 1) is_even &= blocks[i].begin - blocks[i - 1].begin == blocks[1].begin - blocks[0].begin;
    }
    ASSERT_EQ(flat.bytes, bytes);
    ASSERT_EQ(flat.begin, begin);
    ASSERT_EQ(flat.lengths().least, least);
    ASSERT_EQ(flat.lengths().most, most);
    ASSERT_EQ(flat.is_regular(), is_even && least == most);
}

class Random {
  public:
    explicit Random(unsigned seed) : engine_(seed) {}
    std::int64_t operator()(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution(least, most)(engine_);
    }

  private:
    std::mt19937 engine_;
};

TEST(Flat, RandomSequencesAreAsTheListOfTheirBlocks) {
    for (unsigned seed = 0; seed < 20000; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        Blocks blocks;
        Flat flat;
        for (std::int64_t steps = random(1, 5); steps > 0; --steps) {
            if (random(0, 1) == 0) {
                // Small numbers, so that blocks often meet.
                const Block block{random(0, 12), random(0, 4)};
                if (block.bytes != 0) append(blocks, {block}, 0);
                flat = flat + one_block(block.begin, block.bytes);
            } else {
                const std::int64_t count = random(0, 4), step = random(-3, 9);
                Blocks many;
                for (std::int64_t i = 0; i < count; ++i) append(many, blocks, i * step);
                blocks = many;
                flat = repeated(flat, count, step);
            }
            expect_same(flat, blocks);
        }
    }
}

TEST(Flat, AHugeOneIsCounted) {
    const std::int64_t rows = std::int64_t{1} << 40;
    const Flat flat = repeated(one_block(0, 8), rows, 16);
    EXPECT_EQ(flat.blocks, static_cast<std::uint64_t>(rows));
    EXPECT_TRUE(flat.is_regular());
}

TEST(Flat, WhatOverflowsIsNotKnown) {
    EXPECT_FALSE(repeated(one_block(0, 8), INT64_MAX, 16).is_known);
    EXPECT_FALSE(repeated(one_block(0, 8), -1, 16).is_known);
    EXPECT_FALSE((one_block(0, 8) + repeated(one_block(0, 8), INT64_MAX, 16)).is_known);
}

}  // namespace
}  // namespace slowpath::watch
