// SPDX-License-Identifier: Apache-2.0
// Type maps, bounds and handles, without a put.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "layers/datatype.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using namespace slowpath::layers;
using test::contains;

namespace {

using Numbers = std::vector<std::int64_t>;

bool blocks_are(Datatype datatype, const std::vector<std::array<std::int64_t, 2>>& expected) {
    const auto blocks = blocks_of(datatype);
    if (blocks.size() != expected.size()) return false;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].offset_bytes != expected[i][0] || blocks[i].bytes != expected[i][1]) return false;
    return true;
}

/// size, lb, extent, true lb, true ub
bool sizes_are(Datatype datatype, const std::array<std::int64_t, 5>& expected) {
    const TypeRecord& record = record_of(datatype);
    return std::array{record.size_bytes, record.lb_bytes, record.extent_bytes, record.true_lb_bytes,
                      record.true_ub_bytes} == expected;
}

bool is_dense(Datatype datatype) {
    return (record_of(datatype).flags & type_flags::dense) != 0;
}

template <class Make>
std::string refused(Make make) {
    return test::thrown<UsageError>([&] { static_cast<void>(make()); });
}

TEST(LayerDatatypes, PredefinedHandlesHoldSizes) {
    std::uint32_t bytes = 1;
    for (const Datatype datatype : predefined_datatypes) {
        EXPECT_TRUE(are_predefined(datatype) && size_in_handle(datatype) == bytes);
        EXPECT_TRUE(sizes_are(datatype, {bytes, 0, bytes, 0, bytes}));
        EXPECT_TRUE(is_dense(datatype) && (record_of(datatype).flags & type_flags::committed) != 0);
        bytes *= 2;
    }
    EXPECT_EQ(bytes, 32);
    EXPECT_FALSE(are_predefined(Datatype::bytes_8, Datatype::null));
}

TEST(LayerDatatypes, NeighboursMerge) {
    const Datatype row = contiguous(5, Datatype::bytes_4);
    EXPECT_TRUE(blocks_are(row, {{0, 20}}) && is_dense(row));
    EXPECT_TRUE(!are_predefined(row) && size_in_handle(row) == 0);
    EXPECT_TRUE(blocks_are(vector(3, 2, 2, row), {{0, 120}}));
    EXPECT_TRUE(is_dense(vector(3, 2, 2, row)));
    // In the type map's order, which is the data's: the second block comes first in memory, and does not
    // merge.
    const Datatype back = hindexed(Numbers{1, 1}, Numbers{4, 0}, Datatype::bytes_4);
    EXPECT_TRUE(blocks_are(back, {{4, 4}, {0, 4}}) && !is_dense(back));
    EXPECT_TRUE(sizes_are(back, {8, 0, 8, 0, 8}));
}

TEST(LayerDatatypes, GapsStay) {
    const Datatype gap = vector(2, 1, 2, Datatype::bytes_4);
    EXPECT_TRUE(blocks_are(gap, {{0, 4}, {8, 4}}) && sizes_are(gap, {8, 0, 12, 0, 12}) && !is_dense(gap));
    // The extent, and not the true extent, is from one element to the next.
    EXPECT_TRUE(blocks_are(contiguous(2, gap), {{0, 4}, {8, 8}, {20, 4}}));
    const Datatype negative = vector(2, 1, -2, Datatype::bytes_8);
    EXPECT_TRUE(blocks_are(negative, {{0, 8}, {-16, 8}}) && sizes_are(negative, {16, -16, 24, -16, 8}));
    const Datatype high = indexed(Numbers{2, 0, 1}, Numbers{3, -9, 7}, Datatype::bytes_2);
    EXPECT_TRUE(blocks_are(high, {{6, 4}, {14, 2}}) && sizes_are(high, {6, 6, 10, 6, 16}));
    const Datatype shifted = hindexed(Numbers{2}, Numbers{8}, Datatype::bytes_8);
    EXPECT_TRUE(is_dense(shifted) && sizes_are(shifted, {16, 8, 16, 8, 24}));
}

TEST(LayerDatatypes, BoundsFollowTheStandard) {
    // MPI-4.1 section 5.1.6: a double and a char have an extent of 16.
    const Datatype padded =
        structure(Numbers{1, 1}, Numbers{0, 8}, std::array{Datatype::bytes_8, Datatype::bytes_1});
    EXPECT_TRUE(sizes_are(padded, {9, 0, 16, 0, 9}) && blocks_are(padded, {{0, 9}}) && !is_dense(padded));
    const Datatype wide = resized(Datatype::bytes_4, -4, 12);
    EXPECT_TRUE(sizes_are(wide, {4, -4, 12, 0, 4}) && !is_dense(wide));
    EXPECT_TRUE(sizes_are(contiguous(3, wide), {12, -4, 36, 0, 28}));
    // Where a part was resized, only such parts make bounds.
    const Datatype mixed = structure(Numbers{1, 1}, Numbers{0, 100}, std::array{wide, Datatype::bytes_8});
    EXPECT_TRUE(sizes_are(mixed, {12, -4, 12, 0, 108}));
    EXPECT_TRUE(sizes_are(resized(wide, 0, 4), {4, 0, 4, 0, 4}) && is_dense(resized(wide, 0, 4)));
    const Datatype backwards = contiguous(3, resized(Datatype::bytes_4, 0, -8));
    EXPECT_TRUE(blocks_are(backwards, {{0, 4}, {-8, 4}, {-16, 4}}));
}

TEST(LayerDatatypes, NothingIsADatatype) {
    for (const Datatype empty : {contiguous(0, Datatype::bytes_8), vector(0, 3, 4, Datatype::bytes_8),
                                 vector(3, 0, 4, Datatype::bytes_8), indexed({}, {}, Datatype::bytes_8),
                                 contiguous(7, contiguous(0, Datatype::bytes_8))}) {
        EXPECT_TRUE(sizes_are(empty, {0, 0, 0, 0, 0}) && blocks_of(empty).empty() && !is_dense(empty));
    }
    const Datatype hollow = resized(contiguous(0, Datatype::bytes_1), 0, 32);
    EXPECT_TRUE(sizes_are(hollow, {0, 0, 32, 0, 0}));
    // As many blocks as the largest count, without data: no loop over all of them.
    EXPECT_TRUE(
        sizes_are(hvector(std::int64_t{1} << 40, 1, 64, hollow), {0, 0, (std::int64_t{1} << 46) - 32, 0, 0}));
}

TEST(LayerDatatypes, HandlesComeAndGo) {
    const Datatype first = contiguous(2, Datatype::bytes_8);
    commit(first);
    commit(first);
    EXPECT_NE((record_of(first).flags & type_flags::committed), 0);
    const Datatype nested = vector(2, 1, 2, first);
    free(first);
    EXPECT_TRUE(blocks_are(nested, {{0, 16}, {32, 16}}));
    EXPECT_TRUE(contains(refused([&] { return commit(first), 0; }), "stands for no datatype"));
    const Datatype second = contiguous(1, Datatype::bytes_4);
    EXPECT_TRUE(second == first && (record_of(second).flags & type_flags::committed) == 0);
    EXPECT_TRUE(contains(refused([] { return free(Datatype::bytes_8), 0; }), "predefined"));
    EXPECT_TRUE(contains(refused([] { return contiguous(1, Datatype::null); }), "is null"));
    EXPECT_TRUE(
        contains(refused([] { return contiguous(1, static_cast<Datatype>(0x8004'0004)); }), "never made"));
}

TEST(LayerDatatypes, WhatCannotBeIsRefused) {
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    EXPECT_TRUE(contains(refused([] { return contiguous(-1, Datatype::bytes_8); }),
                         "contiguous: a count or block length is -1"));
    EXPECT_TRUE(contains(refused([] { return vector(-2, 1, 1, Datatype::bytes_8); }), "is -2"));
    EXPECT_TRUE(contains(refused([] { return vector(1, -3, 1, Datatype::bytes_8); }), "is -3"));
    EXPECT_TRUE(
        contains(refused([] { return indexed(Numbers{1}, Numbers{}, Datatype::bytes_8); }), "as many"));
    EXPECT_TRUE(
        contains(refused([] { return hindexed(Numbers{1}, Numbers{1, 2}, Datatype::bytes_8); }), "as many"));
    EXPECT_TRUE(contains(refused([] { return structure(Numbers{1}, Numbers{1}, {}); }), "as many"));
    EXPECT_TRUE(contains(refused([] { return contiguous(huge, Datatype::bytes_16); }), "2^47"));
    EXPECT_TRUE(contains(refused([] { return vector(2, 1, huge, Datatype::bytes_16); }), "2^63"));
    EXPECT_TRUE(contains(refused([] { return hvector(huge, 1, huge, Datatype::bytes_1); }), "2^47"));
    EXPECT_TRUE(
        contains(refused([] { return indexed(Numbers{1}, Numbers{-huge}, Datatype::bytes_16); }), "2^47"));
    EXPECT_TRUE(contains(refused([] { return resized(Datatype::bytes_1, -huge, 0); }), "2^47"));
    EXPECT_TRUE(contains(refused([] { return vector(1 << 25, 1, 2, Datatype::bytes_1); }), "2^24"));
}

TEST(LayerDatatypes, HandlesRunOut) {
    std::vector<Datatype> all;
    const std::string text = refused([&] {
        for (;;) all.push_back(contiguous(1, Datatype::bytes_1));
        return 0;
    });
    EXPECT_TRUE(contains(text, "32767 derived datatypes"));
    for (const Datatype datatype : all) {
        EXPECT_FALSE(are_predefined(datatype));
        free(datatype);
    }
}

}  // namespace
