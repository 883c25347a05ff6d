// SPDX-License-Identifier: Apache-2.0
// The geometry of the experiment exchange: neighbours in a grid, faces of a box. No MPI job.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "exchange/box.hpp"

namespace slowpath::exchange {
namespace {

using Neighbours = std::vector<Neighbour>;

TEST(Grid, TwoRanksAreTwiceNextToEachOther) {
    EXPECT_EQ(neighbours_of({2, 1, 1}, 0), (Neighbours{{0, false, 1}, {0, true, 1}}));
    EXPECT_EQ(neighbours_of({2, 1, 1}, 1), (Neighbours{{0, false, 0}, {0, true, 0}}));
    EXPECT_EQ(distinct_ranks(neighbours_of({2, 1, 1}, 0)), 1);
}

TEST(Grid, ADimensionOfOneRankIsLeftOut) {
    EXPECT_EQ(neighbours_of({1, 1, 1}, 0), Neighbours{});
    EXPECT_EQ(neighbours_of({3, 1, 2}, 3),  // at (1, 0, 1)
              (Neighbours{{0, false, 1}, {0, true, 5}, {2, false, 2}, {2, true, 2}}));
}

TEST(Grid, IsPeriodic) {
    EXPECT_EQ(
        neighbours_of({3, 3, 3}, 0),
        (Neighbours{{0, false, 18}, {0, true, 9}, {1, false, 6}, {1, true, 3}, {2, false, 2}, {2, true, 1}}));
    EXPECT_EQ(distinct_ranks(neighbours_of({3, 3, 3}, 0)), 6);
}

TEST(Grid, WhoeverIsAboveHasThisRankBelow) {
    const Grid grid{4, 3, 2};
    for (int rank = 0; rank < 24; ++rank)
        for (const Neighbour& one : neighbours_of(grid, rank)) {
            const Neighbours theirs = neighbours_of(grid, one.rank);
            EXPECT_NE(std::find(theirs.begin(), theirs.end(), Neighbour{one.dimension, !one.upper, rank}),
                      theirs.end());
        }
}

TEST(Box, CountsBytes) {
    const Box box{.points = {4, 3, 2}, .point_bytes = 8};
    EXPECT_EQ(box.array_bytes(), 6 * 5 * 4 * 8);
    EXPECT_EQ(box.face_bytes(0), 3 * 2 * 8);
    EXPECT_EQ(box.face_bytes(1), 4 * 2 * 8);
    EXPECT_EQ(box.face_bytes(2), 4 * 3 * 8);
}

TEST(Box, SendsItsOutermostPointsAndReceivesNextToThem) {
    const Box box{.points = {4, 3, 2}, .point_bytes = 1};
    EXPECT_EQ(box.inner_face(0, false), (Region{{1, 1, 1}, {1, 3, 2}}));
    EXPECT_EQ(box.inner_face(0, true), (Region{{4, 1, 1}, {1, 3, 2}}));
    EXPECT_EQ(box.ghost_face(0, false), (Region{{0, 1, 1}, {1, 3, 2}}));
    EXPECT_EQ(box.ghost_face(2, true), (Region{{1, 1, 3}, {4, 3, 1}}));
}

std::vector<std::byte> counted(std::int64_t bytes) {
    std::vector<std::byte> made(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i);
    return made;
}

TEST(Box, PacksPointsInTheOrderOfTheArray) {
    const Box box{.points = {2, 3, 2}, .point_bytes = 1};  // 4 x 5 x 4 with the ghost layer
    std::vector<std::byte> face(6);
    box.pack(counted(80), box.inner_face(0, true), face);
    std::vector<int> found;
    for (const std::byte one : face) found.push_back(std::to_integer<int>(one));
    EXPECT_EQ(found, (std::vector{26, 30, 34, 46, 50, 54}));
}

TEST(Box, UnpacksWhatItPackedAndTouchesNothingElse) {
    for (const std::int64_t point_bytes : {1, 4, 8, 24}) {
        const Box box{.points = {3, 2, 4}, .point_bytes = point_bytes};
        const auto from = counted(box.array_bytes());
        for (int dimension = 0; dimension < 3; ++dimension) {
            std::vector<std::byte> face(static_cast<std::size_t>(box.face_bytes(dimension)));
            std::vector<std::byte> back(face.size()), to(from.size(), std::byte{255});
            const Region region = box.ghost_face(dimension, true);
            box.pack(from, region, face);
            box.unpack(face, region, to);
            box.pack(to, region, back);
            EXPECT_EQ(back, face);
            box.unpack(std::vector<std::byte>(face.size(), std::byte{255}), region, to);
            EXPECT_EQ(to, std::vector<std::byte>(from.size(), std::byte{255}));
        }
    }
}

TEST(Compare, CountsWrongBytesAndNamesTheFirst) {
    auto got = counted(100);
    EXPECT_EQ(compare(counted(100), got).wrong_bytes, 0);
    EXPECT_FALSE(compare(counted(100), got).first_wrong);
    got[7] ^= std::byte{1};
    got[99] ^= std::byte{1};
    EXPECT_EQ(compare(counted(100), got).wrong_bytes, 2);
    EXPECT_EQ(compare(counted(100), got).first_wrong, 7);
}

}  // namespace
}  // namespace slowpath::exchange
