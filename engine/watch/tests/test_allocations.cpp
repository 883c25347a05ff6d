// SPDX-License-Identifier: Apache-2.0
/// The table of allocations against a model that knows each byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "watch/allocations.hpp"

namespace slowpath::watch {
namespace {

// Addresses that no program has.
constexpr Address page = 4096, room = Address{1} << 60, pages = 64;

/// An allocation of a layer by its pages; 0: none.
struct Model {
    std::uint64_t owner[layer_count - 1][pages] = {};
};

Layer layer_of(std::size_t i) {
    return static_cast<Layer>(i);
}

TEST(Allocations, RandomOnesAreFoundAsTheModelHasThem) {
    std::mt19937 random(1);
    const auto below = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    Model model;
    // Of places found earlier: whether they still hold, and for whom.
    std::vector<std::pair<Place, std::uint64_t>> cached;
    std::uint64_t serial = 0;
    for (int step = 0; step < 60000; ++step) {
        const std::size_t layer = below(3), begin = below(pages), length = 1 + below(8);
        const std::size_t end = std::min<std::size_t>(pages, begin + length);
        auto& owner = model.owner[layer];
        if (below(2) == 0) {
            put(layer_of(layer), {.begin = room + begin * page,
                                  .bytes = (end - begin) * page,
                                  .kind = static_cast<std::uint16_t>(layer),
                                  .identity = ++serial});
            std::fill(owner + begin, owner + end, serial);
            for (std::size_t above = 0; above < layer; ++above)
                std::fill(model.owner[above] + begin, model.owner[above] + end, 0);
        } else {
            take_range(layer_of(layer), room + begin * page, room + end * page);
            std::fill(owner + begin, owner + end, 0);
        }
        const std::size_t asked = below(pages);
        const Address address = room + asked * page + below(page);
        std::uint64_t wanted = 0;
        std::size_t wanted_layer = 0;
        for (std::size_t i = 0; i < 3 && wanted == 0; ++i) wanted = model.owner[i][asked], wanted_layer = i;
        const Place place = find_place(address);
        ASSERT_EQ(place.allocation != nullptr, wanted != 0);
        for (const auto& [old, identity] : cached) {
            if (!holds(old)) continue;
            // What a place promises for its addresses is true as long as it holds.
            const Address within = old.begin + below(old.end - old.begin);
            const std::size_t at = (within - room) / page;
            std::uint64_t uppermost = 0;
            for (std::size_t i = 0; i < 3 && uppermost == 0; ++i) uppermost = model.owner[i][at];
            ASSERT_EQ(uppermost, identity);
        }
        if (wanted == 0) continue;
        ASSERT_EQ(static_cast<std::size_t>(place.allocation->layer), wanted_layer);
        ASSERT_TRUE(address >= place.begin && address < place.end);
        // The rest behind a hole is an allocation of its own.
        if (place.allocation->identity != 0) {
            ASSERT_EQ(place.allocation->identity, wanted);
            if (cached.size() < 16)
                cached.emplace_back(place, wanted);
            else
                cached[below(16)] = {place, wanted};
        }
    }
    for (std::size_t layer = 0; layer < 3; ++layer) take_range(layer_of(layer), room, room + pages * page);
}

TEST(Allocations, WhatIsMadeAtAFreedAddressIsAnother) {
    const Made made{.begin = room, .bytes = page, .kind = kind::heap};
    put(Layer::blocks, made);
    const Place first = find_place(room + 8);
    ASSERT_TRUE(holds(first));
    end(take(Layer::blocks, room));
    EXPECT_FALSE(holds(first));
    put(Layer::blocks, made);
    EXPECT_FALSE(holds(first));
    EXPECT_FALSE(find_place(room).allocation->is_used);
    end(take(Layer::blocks, room));
}

TEST(Allocations, WhatWasNotFreedAfterAllIsTheSame) {
    put(Layer::declared, {.begin = room, .bytes = page, .kind = kind::device});
    find_place(room).allocation->is_used = true;
    const Taken taken = take(Layer::declared, room);
    EXPECT_EQ(find_place(room).allocation, nullptr);
    put_back(taken);
    ASSERT_NE(find_place(room).allocation, nullptr);
    EXPECT_TRUE(find_place(room).allocation->is_used);
    end(take(Layer::declared, room));
}

TEST(Allocations, ARegionThatGrowsIsTheSame) {
    put_region({.begin = room, .bytes = page, .kind = kind::heap});
    find_place(room).allocation->is_used = true;
    put_region({.begin = room, .bytes = 3 * page, .kind = kind::heap});
    ASSERT_NE(find_place(room + 2 * page).allocation, nullptr);
    EXPECT_TRUE(find_place(room + 2 * page).allocation->is_used);
    put_region({.begin = room, .bytes = 3 * page, .kind = kind::file});
    EXPECT_FALSE(find_place(room).allocation->is_used);
    take_range(Layer::mappings, room, room + 3 * page);
    EXPECT_EQ(find_place(room).allocation, nullptr);
}

TEST(Allocations, ManyAreFoundInAnyOrder) {
    constexpr std::size_t count = 20000;
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(2));
    for (const std::size_t i : order)
        put(Layer::blocks,
            {.begin = room + i * 2 * page, .bytes = page, .kind = kind::heap, .identity = i + 1});
    std::size_t right = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Place place = find_place(room + i * 2 * page + page - 1);
        right += place.allocation != nullptr && place.allocation->identity == i + 1;
        right += find_place(room + i * 2 * page + page).allocation == nullptr;
    }
    EXPECT_EQ(right, 2 * count);
    take_range(Layer::blocks, room, room + count * 2 * page);
    EXPECT_EQ(known_bytes(Layer::blocks, room), 0U);
}

TEST(Allocations, ThreadsMakeAndEndTheirOwn) {
    constexpr int threads = 8, rounds = 3000;
    std::vector<int> right(threads);
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([thread, &right] {
            const Address mine = room + static_cast<Address>(thread) * 1024 * page;
            for (int i = 0; i < rounds; ++i) {
                const Address here = mine + static_cast<Address>(i % 64) * page;
                put(Layer::blocks, {.begin = here, .bytes = page, .kind = kind::heap});
                const Place place = find_place(here + 1);
                right[static_cast<std::size_t>(thread)] += place.allocation != nullptr &&
                                                           place.begin == here && place.end == here + page &&
                                                           holds(place);
                end(take(Layer::blocks, here));
                right[static_cast<std::size_t>(thread)] += !holds(place);
            }
        });
    for (std::thread& thread : all) thread.join();
    for (const int count : right) EXPECT_EQ(count, 2 * rounds);
}

}  // namespace
}  // namespace slowpath::watch
