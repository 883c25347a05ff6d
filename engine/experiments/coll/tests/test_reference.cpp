// SPDX-License-Identifier: Apache-2.0
// What ranks must get of a collective, and which cells are refused. No MPI job.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "coll/parameters.hpp"
#include "coll/reference.hpp"
#include "core/error.hpp"

namespace slowpath::coll {
namespace {

Place place(Collective collective, int ranks, int rank, std::int64_t count = 3, int root = 0) {
    return {collective, ranks, rank, root, count};
}

TEST(Reference, EachElementReceivedHasOneOrigin) {
    for (const Traits& kind : collectives())
        for (int ranks = 2; ranks <= 9; ++ranks)
            for (int rank = 0; rank < ranks; ++rank) {
                const Place here = place(kind.collective, ranks, rank);
                std::set<std::int64_t> named;
                for (const Piece& piece : pieces(here))
                    for (std::int64_t i = 0; i < piece.elements; ++i)
                        EXPECT_TRUE(named.insert(piece.at + i).second) << kind.name;
                const bool undefined = kind.collective == Collective::exscan && rank == 0;
                EXPECT_EQ(std::ssize(named), undefined ? 0 : received_elements(here)) << kind.name;
            }
}

TEST(Reference, WhatIsExpectedWasSent) {
    for (const Traits& kind : collectives())
        for (int ranks = 2; ranks <= 9; ++ranks)
            for (int rank = 0; rank < ranks; ++rank)
                for (const Piece& piece : pieces(place(kind.collective, ranks, rank)))
                    for (int from = piece.first; from <= piece.last; ++from) {
                        if (kind.collective == Collective::bcast) continue;  // one buffer for both
                        EXPECT_LE(piece.index + piece.elements,
                                  sent_elements(place(kind.collective, ranks, from)))
                            << kind.name;
                    }
}

TEST(Reference, BlocksOfAnAlltoallAreTransposed) {
    const std::vector<Piece> got = pieces(place(Collective::alltoall, 3, 1, 2));
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[2].at, 4);
    EXPECT_EQ(got[2].first, 2);
    EXPECT_EQ(got[2].index, 2) << "the block for rank 1";
}

TEST(Reference, ScansEndAtTheRankOrBeforeIt) {
    EXPECT_EQ(pieces(place(Collective::scan, 4, 2))[0].last, 2);
    EXPECT_EQ(pieces(place(Collective::exscan, 4, 2))[0].last, 1);
    EXPECT_TRUE(pieces(place(Collective::exscan, 4, 0)).empty());
}

TEST(Reference, NeighboursHaveEachOther) {
    for (int ranks = 2; ranks <= 9; ++ranks)
        for (int rank = 0; rank < ranks; ++rank) {
            const std::vector<int> mine = neighbours_of(ranks, rank);
            EXPECT_EQ(std::ssize(mine), std::min(4, ranks - 1));
            EXPECT_EQ(std::count(mine.begin(), mine.end(), rank), 0);
            for (const int other : mine) {
                const std::vector<int> theirs = neighbours_of(ranks, other);
                EXPECT_EQ(std::count(theirs.begin(), theirs.end(), rank), 1);
            }
        }
}

TEST(Reference, BlocksOfOthersThanNeighboursAreEmpty) {
    Place here = place(Collective::alltoallv, 7, 3);
    here.to_neighbours = true;
    std::set<int> named;
    for (const Piece& piece : pieces(here)) {
        named.insert(piece.first);
        EXPECT_EQ(piece.at, piece.first * 3) << "where it lies among the blocks of all";
        EXPECT_EQ(piece.index, 3 * 3) << "the block for rank 3";
    }
    EXPECT_EQ(named, (std::set<int>{1, 2, 4, 5}));
}

TEST(Reference, TheOrderedOpIsAssociativeAndDoesNotCommute) {
    for (const Element element : {Element::byte, Element::real}) {
        const auto op = [&](std::uint32_t a, std::uint32_t b) {
            return combine(element, Op::user_ordered, a, b);
        };
        const std::uint32_t a = 0x39, b = 0x5c, c = 0x71;
        const std::uint32_t wide = element == Element::byte ? 1 : 0x10001;
        EXPECT_EQ(op(op(a * wide, b * wide), c * wide), op(a * wide, op(b * wide, c * wide)));
        EXPECT_NE(op(a * wide, b * wide), op(b * wide, a * wide));
    }
}

TEST(Reference, SumsOfBytesDoNotPassWhatAByteHolds) {
    const Numbers numbers{Element::byte, Op::sum, 7};
    std::array<std::uint8_t, 64> sent{};
    int largest = 0;
    for (int rank = 0; rank < 255; ++rank) {
        fill(std::as_writable_bytes(std::span(sent)), numbers, rank, 0);
        largest += *std::max_element(sent.begin(), sent.end());
    }
    EXPECT_LE(largest, 255);
}

TEST(Reference, SumsAreTakenElementByElement) {
    const Numbers numbers{Element::integer, Op::sum, 7};
    std::array<std::array<int, 4>, 3> sent{};
    for (int rank = 0; rank < 3; ++rank)
        fill(std::as_writable_bytes(std::span(sent[static_cast<std::size_t>(rank)])), numbers, rank, 5);
    std::array<int, 4> sum{};
    expect(std::as_writable_bytes(std::span(sum)), numbers, {0, 4, 0, 2, 5});
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(sum[i], sent[0][i] + sent[1][i] + sent[2][i]);
    EXPECT_NE(sent[0], sent[1]);
    std::array<int, 3> later{};
    fill(std::as_writable_bytes(std::span(later)), numbers, 1, 6);
    EXPECT_TRUE(std::equal(later.begin(), later.end(), sent[1].begin() + 1)) << "the same numbers from 6 on";
}

using Given = std::vector<std::pair<std::string, std::string>>;

Config configured(const Given& given) {
    return configure(Assignment(parameters(), given));
}

TEST(Parameters, DefaultsAreACell) {
    const Config config = configured({});
    EXPECT_EQ(config.collective, Collective::allreduce);
    EXPECT_EQ(config.count(), 1024);
    EXPECT_FALSE(config.members);
    EXPECT_EQ(obstacle(config, 2), std::nullopt);
}

TEST(Parameters, EachWayIsOneOfItsCollective) {
    for (const mockups::Mockup& mockup : mockups::mockups()) {
        const Given given{{"collective", std::string(mockups::name(mockup.of))},
                          {"way", std::string(mockup.name)}};
        EXPECT_EQ(configured(given).way, mockup.name);
    }
    EXPECT_THROW(configured({{"collective", "barrier"}, {"way", "scatter+allgather"}}), UsageError);
    EXPECT_THROW(configured({{"collective", "bcast"}, {"way", "scatter+allgather"}, {"start", "persistent"}}),
                 UsageError);
}

TEST(Parameters, WhatACollectiveLacksIsRefused) {
    EXPECT_THROW(configured({{"collective", "bcast"}, {"in_place", "on"}}), UsageError);
    EXPECT_THROW(configured({{"shape", "one_type"}}), UsageError);
    EXPECT_THROW(configured({{"datatype", "double"}, {"message_bytes", "12"}}), UsageError);
    EXPECT_THROW(configured({{"pattern", "counted"}, {"arrival", "random"}}), UsageError);
}

TEST(Parameters, RanksThatCallMustBeThere) {
    EXPECT_NE(obstacle(configured({{"members", "5"}}), 4), std::nullopt);
    EXPECT_NE(obstacle(configured({{"members", "3"}, {"communicator", "halves"}}), 4), std::nullopt);
    EXPECT_EQ(obstacle(configured({{"communicator", "strided"}}), 4), std::nullopt);
}

TEST(Collectives, NamesAreThoseOfTheMockUps) {
    for (const Traits& kind : collectives()) EXPECT_EQ(mockups::name(kind.collective), kind.name);
}

}  // namespace
}  // namespace slowpath::coll
