// SPDX-License-Identifier: Apache-2.0
// Every layer, called and inlined: what it writes, what it leaves alone, and what it answers to what can't be
// meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "layers/complex.hpp"
#include "layers/library.hpp"
#include "layers/shmem.hpp"
#include "layers/simple.hpp"
#include "layers/small_args.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using namespace slowpath::layers;

namespace {

constexpr std::byte untouched{0x5a};
constexpr std::size_t part_bytes = 4096;
constexpr std::size_t edge_bytes = 256;

/// Two ranks with edges around their parts; rank 1 counts displacements in 8 bytes.
struct Parts {
    std::vector<std::byte> memory = std::vector<std::byte>(2 * part_bytes + 3 * edge_bytes, untouched);
    std::byte* const own = memory.data() + edge_bytes;
    std::byte* const other = own + part_bytes + edge_bytes;
    Window window{std::array{Peer{own, part_bytes, 1}, Peer{other, part_bytes, 8}}, 0};
    std::vector<std::byte> origin = std::vector<std::byte>(part_bytes);

    Parts() {
        for (std::size_t i = 0; i < origin.size(); ++i)
            origin[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
        window.begin_epoch();
    }
    /// Whether these bytes of rank 1's part are the origin's first, and no other byte was written; forgets
    /// them.
    bool wrote_only(std::size_t offset_bytes, std::size_t bytes) {
        std::vector<std::byte> expected(memory.size(), untouched);
        const auto begin = static_cast<std::size_t>(other - memory.data()) + offset_bytes;
        std::copy_n(origin.begin(), bytes, expected.begin() + static_cast<std::ptrdiff_t>(begin));
        const bool right = memory == expected;
        std::fill(memory.begin(), memory.end(), untouched);
        return right;
    }
    bool wrote_nothing() { return wrote_only(0, 0); }
};

using FullPut = int (*)(const void*, int, Datatype, int, std::ptrdiff_t, int, Datatype, const Window*);
struct Full {
    FullPut put;
    bool checked;
    bool trusts_handles;
};

template <auto inlined>
int inline_it(const void* origin, int origin_count, Datatype origin_type, int target,
              std::ptrdiff_t displacement, int target_count, Datatype target_type, const Window* window) {
    return inlined(origin, origin_count, origin_type, target, displacement, target_count, target_type,
                   window);
}

constexpr std::array full_puts = {
    Full{slowpath_put_complex, true, false},         Full{slowpath_put_complex_unchecked, false, false},
    Full{slowpath_put_simple, true, true},           Full{slowpath_put_simple_unchecked, false, true},
    Full{inline_it<put_complex<true>>, true, false}, Full{inline_it<put_complex<false>>, false, false},
    Full{inline_it<put_simple<true>>, true, true},   Full{inline_it<put_simple<false>>, false, true},
};

constexpr Datatype b1 = Datatype::bytes_1;
constexpr Datatype b4 = Datatype::bytes_4;
constexpr Datatype b8 = Datatype::bytes_8;

void full_puts_write(Parts& parts, FullPut put) {
    const Window* const window = &parts.window;
    const void* const origin = parts.origin.data();
    EXPECT_TRUE(put(origin, 1, b8, 1, 3, 1, b8, window) == success && parts.wrote_only(24, 8));
    EXPECT_TRUE(put(origin, 3, b1, 1, 0, 3, b1, window) == success && parts.wrote_only(0, 3));
    // Of unlike datatypes, to the last byte.
    EXPECT_TRUE(put(origin, 16, b8, 1, 496, 8, Datatype::bytes_16, window) == success &&
                parts.wrote_only(3968, 128));
    EXPECT_TRUE(put(origin, 512, b8, 1, 0, 1024, b4, window) == success && parts.wrote_only(0, part_bytes));
    // Nothing to move, wherever; and no such process.
    EXPECT_TRUE(put(nullptr, 0, b8, 1, 9999, 0, b4, window) == success && parts.wrote_nothing());
    EXPECT_TRUE(put(origin, 1, b8, proc_null, 3, 1, b8, window) == success && parts.wrote_nothing());
    const Datatype row = contiguous(4, b4);
    commit(row);
    EXPECT_TRUE(put(origin, 2, row, 1, 4, 8, b4, window) == success && parts.wrote_only(32, 32));
    EXPECT_TRUE(put(origin, 32, b1, 1, 4, 2, row, window) == success && parts.wrote_only(32, 32));
    free(row);
}

void full_puts_scatter(Parts& parts, FullPut put) {
    const Datatype gap = vector(2, 1, 2, b4);
    const Datatype back = resized(b8, 0, -8);
    const Datatype low = hindexed(std::array<std::int64_t, 1>{1}, std::array<std::int64_t, 1>{-8}, b8);
    for (const Datatype datatype : {gap, back, low}) commit(datatype);
    const auto word = [&](const std::byte* at) {
        std::uint32_t value;
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    const std::byte* const from = parts.origin.data();
    for (const bool merged : {false, true}) {
        // Equal datatypes, and by way of a list of words.
        EXPECT_EQ(put(from, merged ? 2 : 1, merged ? b4 : gap, 1, 2, 1, gap, &parts.window), success);
        EXPECT_EQ(word(parts.other + 16), word(from));
        EXPECT_EQ(word(parts.other + 24), word(from + (merged ? 4 : 8)));
        std::memset(parts.other + 16, static_cast<int>(untouched), 4);
        std::memset(parts.other + 24, static_cast<int>(untouched), 4);
        EXPECT_TRUE(parts.wrote_nothing());
    }
    // A negative extent at the target: the second element lies before the first.
    EXPECT_EQ(put(from, 2, b8, 1, 1, 2, back, &parts.window), success);
    EXPECT_TRUE(word(parts.other + 8) == word(from) && word(parts.other) == word(from + 8));
    std::memset(parts.other, static_cast<int>(untouched), 16);
    EXPECT_TRUE(parts.wrote_nothing());
    EXPECT_TRUE(put(from, 1, b8, 1, 1, 1, low, &parts.window) == success && parts.wrote_only(0, 8));
    for (const Datatype datatype : {gap, back, low}) free(datatype);
}

void full_puts_refuse(Parts& parts, const Full& full) {
    const FullPut put = full.put;
    const Window* const window = &parts.window;
    const void* const origin = parts.origin.data();
    const Datatype gap = vector(2, 1, 2, b4);
    EXPECT_EQ(put(origin, 1, gap, 1, 0, 1, gap, window), error_uncommitted);
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, gap, window), error_uncommitted);
    commit(gap);
    const Datatype back = resized(b8, 0, -8);
    const Datatype high = hindexed(std::array<std::int64_t, 1>{1}, std::array<std::int64_t, 1>{64}, b8);
    const Datatype high_gap =
        hindexed(std::array<std::int64_t, 2>{1, 1}, std::array<std::int64_t, 2>{64, 80}, b4);
    for (const Datatype datatype : {back, high, high_gap}) commit(datatype);
    const Datatype gone = contiguous(2, b4);
    free(gone);

    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, b8, nullptr), error_window);
    EXPECT_EQ(put(origin, 1, b8, 2, 0, 1, b8, window), error_rank);
    EXPECT_EQ(put(origin, 1, b8, -2, 0, 1, b8, window), error_rank);
    EXPECT_EQ(put(origin, 1, b8, INT_MAX, 0, 1, b8, window), error_rank);
    EXPECT_EQ(put(origin, -1, b8, 1, 0, -1, b8, window), error_count);
    EXPECT_EQ(put(origin, -1, b8, 1, 0, 1, b8, window), error_count);
    EXPECT_EQ(put(origin, 1, b8, 1, 1, INT_MIN, b8, window), error_count);
    EXPECT_EQ(put(origin, -1, gap, 1, 0, -1, gap, window), error_count);
    EXPECT_EQ(put(origin, -1, b8, proc_null, 0, -1, b8, window), error_count);
    EXPECT_EQ(put(origin, 1, Datatype::null, 1, 0, 1, b8, window), error_datatype);
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, Datatype::null, window), error_datatype);
    EXPECT_EQ(put(origin, 1, gone, 1, 0, 1, gone, window), error_datatype);
    EXPECT_EQ(put(origin, 1, static_cast<Datatype>(0x7fff'0000), 1, 0, 1, b8, window), error_datatype);
    const auto forged = static_cast<Datatype>(0x8004'0004);
    if (!full.trusts_handles) {
        EXPECT_EQ(put(origin, 1, forged, 1, 0, 1, b4, window), error_datatype);
        EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, forged, window), error_datatype);
    }
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, b4, window), error_size);
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 0, b8, window), error_size);
    EXPECT_EQ(put(origin, 1, gap, 1, 0, 2, gap, window), error_size);
    EXPECT_EQ(put(origin, 1, b8, 1, -1, 1, b8, window), error_displacement);
    EXPECT_EQ(put(origin, 1, gap, 1, -1, 1, gap, window), error_displacement);
    // Would lie within the part, but a displacement is not negative.
    EXPECT_EQ(put(origin, 1, b8, 1, -1, 1, high, window), error_displacement);
    EXPECT_EQ(put(origin, 1, high, 1, -1, 1, high, window), error_displacement);
    EXPECT_EQ(put(origin, 1, high_gap, 1, -1, 1, high_gap, window), error_displacement);
    EXPECT_EQ(put(origin, 1, b8, 1, 512, 1, b8, window), error_range);
    EXPECT_EQ(put(origin, 513, b8, 1, 0, 513, b8, window), error_range);
    EXPECT_EQ(put(origin, 2, b8, 1, 511, 2, b8, window), error_range);
    EXPECT_EQ(put(origin, 1, gap, 1, 511, 1, gap, window), error_range);
    EXPECT_EQ(put(origin, 2, back, 1, 0, 2, back, window), error_range);
    EXPECT_EQ(put(origin, INT_MAX, gap, 1, 0, INT_MAX, gap, window), error_range);
    // Products and sums that overflow 64 bits.
    EXPECT_EQ(put(origin, 1, b8, 1, PTRDIFF_MAX, 1, b8, window), error_range);
    EXPECT_EQ(put(origin, 1, gap, 1, PTRDIFF_MAX, 1, gap, window), error_range);
    EXPECT_EQ(put(origin, 1, b8, 1, PTRDIFF_MAX / 8, 1, b8, window), error_range);
    EXPECT_EQ(put(origin, 2, b8, 1, std::ptrdiff_t{1} << 61, 2, b8, window), error_range);
    EXPECT_EQ(put(origin, INT_MAX, Datatype::bytes_16, 1, 0, INT_MAX, Datatype::bytes_16, window),
              error_range);

    parts.window.end_epoch();
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, b8, window), error_epoch);
    EXPECT_EQ(put(origin, 1, gap, 1, 0, 1, gap, window), error_epoch);
    parts.window.begin_epoch();
    parts.window.magic = 0;
    EXPECT_EQ(put(origin, 1, b8, 1, 0, 1, b8, window), error_window);
    parts.window.magic = Window::living;
    EXPECT_TRUE(parts.wrote_nothing());
    for (const Datatype datatype : {gap, back, high, high_gap}) free(datatype);
}

using SmallPut = int (*)(const void*, std::size_t, int, std::size_t, const Window*);

template <bool checked>
int inlined_small(const void* origin, std::size_t bytes, int target, std::size_t offset_bytes,
                  const Window* window) {
    return put_small_args<checked>(origin, bytes, target, offset_bytes, window);
}

void small_puts_write(Parts& parts, SmallPut put) {
    const Window* const window = &parts.window;
    const void* const origin = parts.origin.data();
    for (const std::size_t bytes : {1, 3, 4, 8, 9, 16, 1000, 4096}) {
        EXPECT_TRUE(put(origin, bytes, 1, 0, window) == success && parts.wrote_only(0, bytes));
        EXPECT_EQ(put(origin, bytes, 1, part_bytes - bytes, window), success);
        EXPECT_TRUE(parts.wrote_only(part_bytes - bytes, bytes));
    }
    EXPECT_TRUE(put(nullptr, 0, 1, 0, window) == success && parts.wrote_nothing());
}

void small_puts_refuse(Parts& parts, SmallPut put) {
    const Window* const window = &parts.window;
    const void* const origin = parts.origin.data();
    EXPECT_EQ(put(origin, 8, proc_null, 0, window), success);
    EXPECT_EQ(put(origin, 0, 1, 99999, window), success);
    EXPECT_EQ(put(origin, 8, 2, 0, window), error_rank);
    EXPECT_EQ(put(origin, 8, INT_MIN, 0, window), error_rank);
    EXPECT_EQ(put(origin, 8, 1, part_bytes - 7, window), error_range);
    EXPECT_EQ(put(origin, part_bytes + 1, 1, 0, window), error_range);
    EXPECT_EQ(put(origin, 8, 1, SIZE_MAX - 3, window), error_range);
    EXPECT_EQ(put(origin, SIZE_MAX, 1, 2, window), error_range);
    parts.window.end_epoch();
    EXPECT_EQ(put(origin, 8, 1, 0, window), error_epoch);
    parts.window.begin_epoch();
    EXPECT_TRUE(parts.wrote_nothing());
}

TEST(LayerPuts, ShmemWrites) {
    Parts parts;
    std::byte* const own = parts.own;
    const void* const origin = parts.origin.data();
    std::uint64_t word;
    std::memcpy(&word, origin, sizeof word);
    auto* const last = reinterpret_cast<std::uint64_t*>(own + part_bytes - 8);
    slowpath_shmem_put(own + 16, origin, 8, 1);
    EXPECT_TRUE(parts.wrote_only(16, 8));
    slowpath_shmem_put(own, origin, 4096, 1);
    EXPECT_TRUE(parts.wrote_only(0, 4096));
    slowpath_shmem_p(last, word, 1);
    EXPECT_TRUE(parts.wrote_only(part_bytes - 8, 8));
    EXPECT_TRUE(shmem_put<false>(own + 1, origin, 5, 1) == success && parts.wrote_only(1, 5));
    EXPECT_TRUE(shmem_p<false>(last, word, 1) == success && parts.wrote_only(part_bytes - 8, 8));
    for (const bool called : {true, false}) {
        const auto put = called ? slowpath_shmem_put_checked : shmem_put<true>;
        const auto p = called ? slowpath_shmem_p_checked : shmem_p<true>;
        EXPECT_TRUE(put(own + 8, origin, 9, 1) == success && parts.wrote_only(8, 9));
        EXPECT_TRUE(p(last, word, 1) == success && parts.wrote_only(part_bytes - 8, 8));
        EXPECT_TRUE(put(own, origin, 8, 2) == error_rank && put(own, origin, 8, proc_null) == error_rank);
        EXPECT_TRUE(put(own - 1, origin, 8, 1) == error_range &&
                    put(own + part_bytes - 7, origin, 8, 1) == error_range);
        EXPECT_TRUE(put(own, origin, SIZE_MAX, 1) == error_range && p(last + 1, word, 1) == error_range);
        EXPECT_EQ(p(last, word, 2), error_rank);
        parts.window.end_epoch();
        EXPECT_TRUE(put(own, origin, 8, 1) == error_epoch && p(last, word, 1) == error_epoch);
        parts.window.begin_epoch();
        EXPECT_TRUE(parts.wrote_nothing());
    }
}

TEST(LayerPuts, WindowsAreRefused) {
    const auto refused = [](std::span<const Peer> parts, int rank) {
        return test::thrown<UsageError>([&] { const Window window(parts, rank); });
    };
    std::byte byte{};
    EXPECT_TRUE(test::contains(refused({}, 0), "has no rank 0"));
    EXPECT_TRUE(test::contains(refused(std::array{Peer{&byte, 1, 1}}, 1), "has no rank 1"));
    EXPECT_TRUE(test::contains(refused(std::array{Peer{&byte, 1, 0}}, 0), "displacement unit is 0"));
    EXPECT_TRUE(test::contains(refused(std::array{Peer{nullptr, 1, 1}}, 0), "no address"));
    EXPECT_TRUE(test::contains(refused(std::vector<Peer>(most_ranks + 1), 0), "at most 1024 ranks"));
    EXPECT_TRUE(refused(std::array{Peer{nullptr, 0, 1}}, 0).empty());
}

TEST(LayerPuts, CodesHaveTexts) {
    for (int code = success; code <= error_slots; ++code)
        for (int other = success; other < code; ++other) EXPECT_NE(describe(code), describe(other));
    EXPECT_EQ(describe(error_slots + 1), "not a code of the layers");
}

TEST(LayerPuts, FullPutsWriteScatterAndRefuse) {
    Parts parts;
    for (const Full& full : full_puts) {
        full_puts_write(parts, full.put);
        full_puts_scatter(parts, full.put);
        if (full.checked) full_puts_refuse(parts, full);
    }
}

TEST(LayerPuts, SmallPutsWriteAndRefuse) {
    Parts parts;
    for (const SmallPut put : {slowpath_put_small_args, slowpath_put_small_args_unchecked,
                               inlined_small<true>, inlined_small<false>})
        small_puts_write(parts, put);
    for (const SmallPut put : {slowpath_put_small_args, inlined_small<true>}) small_puts_refuse(parts, put);
}

}  // namespace
