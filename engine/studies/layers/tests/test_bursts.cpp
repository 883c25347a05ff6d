// SPDX-License-Identifier: Apache-2.0
// Every design of the registry, in every order: each slot holds what it should, and nothing else was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "layers/burst.hpp"
#include "layers/error.hpp"

using namespace slowpath;
using namespace slowpath::layers;

namespace {

constexpr std::byte untouched{0x5a};
constexpr std::size_t edge_bytes = 256;

/// What one put of a design leaves in the target's slot.
enum class Leaves { data, first_word, nothing };

Leaves leaves(const Design& design) {
    if (design.name.starts_with("empty_call")) return Leaves::nothing;
    const bool stores =
        design.name == "store" || design.name == "unrolled_stores" || design.name == "fenced_store";
    return stores ? Leaves::first_word : Leaves::data;
}

struct Case {
    std::uint64_t message_bytes;
    std::uint64_t slot_bytes;
    std::uint64_t slots;
    std::int64_t puts;
    std::uint32_t unit_bytes;
};

struct Bench {
    const Case given;
    const std::size_t part_bytes = given.slots * given.slot_bytes;
    std::vector<std::byte> memory = std::vector<std::byte>(2 * part_bytes + 3 * edge_bytes, untouched);
    std::byte* const own = memory.data() + edge_bytes;
    std::byte* const other = own + part_bytes + edge_bytes;
    Window window{std::array{Peer{own, part_bytes, 1}, Peer{other, part_bytes, given.unit_bytes}}, 0};
    std::vector<std::byte> origin = std::vector<std::byte>(2 * part_bytes);  // bursts beyond the part read it
    std::vector<std::uint32_t> shuffled = std::vector<std::uint32_t>(given.slots);

    explicit Bench(const Case& what) : given(what) {
        std::mt19937 random(17);
        for (std::byte& byte : origin) byte = static_cast<std::byte>(random() | 1U);
        std::iota(shuffled.begin(), shuffled.end(), 0U);
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        window.begin_epoch();
    }

    Burst burst() {
        Burst made;
        made.window = &window;
        made.target = 1;
        made.local = own;
        made.origin = origin.data();
        made.origin_type = made.target_type = Datatype::bytes_8;
        made.count = static_cast<int>(given.message_bytes / 8);
        made.message_bytes = given.message_bytes;
        made.slot_bytes = given.slot_bytes;
        made.mask = given.slots - 1;
        made.shuffled = shuffled.data();
        made.puts = given.puts;
        return made;
    }

    std::uint64_t slot_of(Order order, std::uint64_t put) const {
        switch (order) {
            case Order::same:
                return 0;
            case Order::sequential:
                return put % given.slots;
            case Order::line:
                return put * std::max<std::uint64_t>(1, 64 / given.slot_bytes) % given.slots;
            case Order::random:
                return shuffled[put % given.slots];
        }
        return 0;
    }

    std::vector<std::byte> expected(Order order, Leaves left) const {
        std::vector<std::byte> bytes(memory.size(), untouched);
        if (left == Leaves::nothing) return bytes;
        std::byte* const part = bytes.data() + (other - memory.data());
        for (std::uint64_t put = 0; put < static_cast<std::uint64_t>(given.puts); ++put) {
            const std::uint64_t at = slot_of(order, put) * given.slot_bytes;
            for (std::uint64_t i = 0; i < given.message_bytes; ++i)
                part[at + i] = left == Leaves::data ? origin[at + i] : origin[i % 8];
        }
        return bytes;
    }
};

void check(const Design& design, const Case& given, Order order) {
    const RunPuts run = design.puts[static_cast<std::size_t>(order)];
    if (run == nullptr) return;
    Bench bench(given);
    const Burst burst = bench.burst();
    const int code = run(burst);
    if (design.name == "unrolled_stores" && given.message_bytes != given.slot_bytes) {
        EXPECT_EQ(code, error_slots);
        return;
    }
    design.synchronise(burst);
    const bool right = code == success && bench.memory == bench.expected(order, leaves(design));
    if (!right) {
        std::fprintf(stderr, "%s, call %d, checked %d, order %d, %lu bytes in slots of %lu: code %d\n",
                     std::string(design.name).c_str(), static_cast<int>(design.call), design.checked,
                     static_cast<int>(order), given.message_bytes, given.slot_bytes, code);
    }
    EXPECT_TRUE(right);
}

TEST(LayerBursts, EveryDesignMovesEverySlot) {
    for (const Design& design : designs()) {
        for (const Case& given : {Case{8, 8, 64, 100, 8}, Case{8, 8, 64, 13, 1}, Case{24, 32, 16, 16, 8},
                                  Case{4096, 4096, 4, 3, 8}, Case{8, 8, 1, 5, 8}, Case{8, 8, 4, 9, 8}}) {
            for (const Order order : {Order::same, Order::sequential, Order::line, Order::random})
                check(design, given, order);
        }
        EXPECT_NE(design.puts[static_cast<std::size_t>(Order::sequential)], nullptr);
        EXPECT_TRUE(design.synchronise != nullptr && !design.meaning.empty());
    }
}

/// Bursts of two blocks with a gap, both sides: the gap is not written.
TEST(LayerBursts, DatatypesAreTaken) {
    const Datatype gap = vector(2, 1, 2, Datatype::bytes_4);
    commit(gap);
    for (const Design& design : designs()) {
        if (!design.takes_datatypes) continue;
        Bench bench({8, 16, 8, 8, 1});
        Burst burst = bench.burst();
        burst.count = 1;
        burst.origin_type = burst.target_type = gap;
        EXPECT_EQ(design.puts[static_cast<std::size_t>(Order::sequential)](burst), success);
        design.synchronise(burst);
        std::vector<std::byte> expected(bench.memory.size(), untouched);
        for (std::size_t i = 0; i < bench.part_bytes; ++i)
            if (i % 8 < 4)
                expected[static_cast<std::size_t>(bench.other - bench.memory.data()) + i] = bench.origin[i];
        EXPECT_EQ(bench.memory, expected);
    }
    free(gap);
}

TEST(LayerBursts, CheckedDesignsAnswerTheFirstError) {
    for (const Design& design : designs()) {
        if (!design.checked) continue;
        Bench bench({8, 8, 64, 65, 8});
        Burst burst = bench.burst();
        burst.mask = 127;  // beyond the part from put 64 on
        const int code = design.puts[static_cast<std::size_t>(Order::sequential)](burst);
        EXPECT_EQ(code, error_range);
    }
}

TEST(LayerBursts, OddSlotsAreRefused) {
    for (const Design& design : designs()) {
        Bench bench({8, 8, 64, 1, 8});
        Burst burst = bench.burst();
        burst.slot_bytes = 24;
        EXPECT_EQ(design.puts[static_cast<std::size_t>(Order::sequential)](burst), error_slots);
        EXPECT_TRUE(std::all_of(bench.memory.begin(), bench.memory.end(),
                                [](std::byte b) { return b == untouched; }));
    }
}

/// The names that the experiment's parameters have (docs/results/put.md), each layer in its four ways.
TEST(LayerBursts, TheRegistryIsWhole) {
    std::set<std::tuple<std::string_view, Call, bool>> found;
    for (const Design& design : designs())
        EXPECT_TRUE(found.emplace(design.name, design.call, design.checked).second);
    for (const std::string_view layer : {"complex", "simple", "small_args", "shmem_put", "shmem_p"})
        for (const Call call : {Call::library, Call::inlined})
            for (const bool checked : {false, true}) EXPECT_TRUE(found.contains({layer, call, checked}));
    for (const std::string_view name : {"empty_call", "empty_call_5", "memcpy"})
        EXPECT_TRUE(found.contains({name, Call::library, false}));
    for (const std::string_view name : {"store", "load_store", "unrolled_stores", "fenced_store"})
        EXPECT_TRUE(found.contains({name, Call::inlined, false}));
}

}  // namespace
