// SPDX-License-Identifier: Apache-2.0
// What rungs move and refuse: against layer `complex`, byte for byte.
#include <gtest/gtest.h>

#include "layers/tests/ladder_parts.hpp"

namespace {

using namespace slowpath::layers_test;

/// Every rung from `rung` on answers as layer `complex` does, and leaves the same bytes everywhere.
void compare_with_complex(Parts& parts, const PutCall& call, const std::byte* origin, int rung,
                          const char* label) {
    parts.clear();
    const int expected =
        slowpath_put_complex(origin, call.origin_count, call.origin_type, call.target, call.displacement,
                             call.target_count, call.target_type, &parts.window);
    const std::vector<std::byte> wanted = parts.memory;
    for (; rung < ladder_rung_count; ++rung) {
        parts.clear();
        const auto number = static_cast<std::size_t>(rung);
        const int code =
            put_of_rung[number](origin, call.origin_count, call.origin_type, call.target, call.displacement,
                                call.target_count, call.target_type, parts.argument(rung));
        EXPECT_EQ(code, expected);
        EXPECT_EQ(parts.memory, wanted);
        EXPECT_EQ(flush_of_rung[number](1, parts.argument(rung)), success);
        if (code != expected || parts.memory != wanted)
            std::fprintf(stderr, "  rung %d, %s: code %d, expected %d\n", rung, label, code, expected);
    }
}

TEST(Ladder, Predefined) {
    Parts parts;
    Random random(1);
    std::vector<Datatype> types(predefined_datatypes.begin(), predefined_datatypes.end());
    types.push_back(Datatype::null);
    const auto origin = dense_bytes(4096);
    for (int i = 0; i < 4000; ++i) {
        const std::string label = "call " + std::to_string(i) + " of seed 1";
        compare_with_complex(parts, random_call(random, types), origin.data(), 2, label.c_str());
    }
}

TEST(Ladder, Derived) {
    Parts parts;
    const auto origin = dense_bytes(std::size_t{1} << 21);  // elements can go far in both directions
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        std::vector<Datatype> types;
        for (int i = 0; i < 6; ++i) {
            types.push_back(random_type(random, static_cast<int>(random.in(0, 2))));
            if (random.in(0, 19) != 0) commit(types.back());
        }
        for (int i = 0; i < 20; ++i) {
            const std::string label = "call " + std::to_string(i) + " of seed " + std::to_string(seed);
            compare_with_complex(parts, random_call(random, types), origin.data() + origin.size() / 2,
                                 datatype_rung, label.c_str());
        }
        for (const Datatype type : types)
            if (size_in_handle(type) == 0) slowpath::layers::free(type);
    }
}

/// The last byte of a part and the one behind it, with units of 8 bytes; elements that follow one another
/// downwards.
TEST(Ladder, Range) {
    Parts parts;
    const auto origin = dense_bytes(4096);
    const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(parts.peers[1].bytes / 8) - 1;
    const Datatype pair = vector(2, 1, 2, Datatype::bytes_4);
    const Datatype down = vector(2, 1, -1, Datatype::bytes_8);
    commit(pair);
    commit(down);
    const auto put = [&](int rung, int count, Datatype type, std::ptrdiff_t displacement) {
        return put_of_rung[static_cast<std::size_t>(rung)](origin.data() + 2048, count, type, 1, displacement,
                                                           count, type, parts.argument(rung));
    };
    for (int rung = 2; rung < ladder_rung_count; ++rung) {
        EXPECT_EQ(put(rung, 1, Datatype::bytes_8, last), success);
        EXPECT_EQ(put(rung, 9, Datatype::bytes_1, last), error_range);
        EXPECT_EQ(put(rung, 1, Datatype::bytes_1, last + 1), error_range);
        EXPECT_EQ(put(rung, 0, Datatype::bytes_1, last + 1), success);
        EXPECT_EQ(put(rung, 1, Datatype::bytes_8, -1), error_displacement);
        EXPECT_EQ(put(rung, 1, Datatype::bytes_8, std::ptrdiff_t{1} << 61), error_range);
        if (rung < datatype_rung) continue;
        EXPECT_EQ(put(rung, 1, pair, last - 1), success);  // 4 bytes, 4 of a gap, 4 bytes
        EXPECT_EQ(put(rung, 1, pair, last), error_range);
        EXPECT_EQ(put(rung, 1, down, 1), success);
        EXPECT_EQ(put(rung, 1, down, 0), error_range);
    }
    slowpath::layers::free(pair);
    slowpath::layers::free(down);
}

/// More data than the generic copy's buffer holds, neither side contiguous, blocks across the buffer's end.
TEST(Ladder, LongBlocks) {
    Parts parts(65536);
    const Datatype from = vector(100, 7, 9, Datatype::bytes_8);
    const Datatype to = vector(175, 4, 6, Datatype::bytes_8);
    commit(from);
    commit(to);
    const auto origin = dense_bytes(65536);
    compare_with_complex(parts, {4, from, 1, 3, 4, to}, origin.data(), datatype_rung, "long blocks");
    compare_with_complex(parts, {4, from, 1, 3, 2800, Datatype::bytes_8}, origin.data(), datatype_rung,
                         "to dense");
    slowpath::layers::free(from);
    slowpath::layers::free(to);
}

/// What is not checked below rung 2, and what the bare store does.
TEST(Ladder, Unchecked) {
    Parts parts;
    const auto origin = dense_bytes(256);
    for (const std::size_t bytes : {1U, 8U, 24U, 200U}) {
        parts.clear();
        EXPECT_EQ(slowpath_ladder_put_0(origin.data(), bytes, 1, 16, &parts.window), success);
        EXPECT_EQ(std::memcmp(parts.peers[1].base + 16, origin.data(), bytes), 0);
        EXPECT_TRUE(parts.peers[1].base[15] == std::byte{0xee} &&
                    parts.peers[1].base[16 + bytes] == std::byte{0xee});
        parts.clear();
        const auto count = static_cast<int>(bytes);
        EXPECT_EQ(slowpath_ladder_put_1(origin.data(), count, Datatype::bytes_1, 1, 2, count,
                                        Datatype::bytes_1, parts.argument(1)),
                  success);
        EXPECT_EQ(std::memcmp(parts.peers[1].base + 16, origin.data(), bytes), 0);
        EXPECT_TRUE(parts.peers[1].base[15] == std::byte{0xee} &&
                    parts.peers[1].base[16 + bytes] == std::byte{0xee});
    }
}

}  // namespace
