// SPDX-License-Identifier: Apache-2.0
/// What the tests of the ladder share: windows, rungs by number, random calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "layers/error.hpp"
#include "layers/ladder.hpp"
#include "layers/ladder_calls.hpp"
#include "layers/library.hpp"
namespace slowpath::layers_test {

using namespace slowpath::layers;

constexpr std::array<LadderPut*, ladder_rung_count> put_of_rung = {
    nullptr,
    slowpath_ladder_put_1,
    slowpath_ladder_put_2,
    slowpath_ladder_put_3,
    slowpath_ladder_put_4,
    slowpath_ladder_put_5,
    slowpath_ladder_put_6,
    slowpath_ladder_put_7,
    slowpath_ladder_put_8,
    slowpath_ladder_put_9,
    slowpath_ladder_put_10,
    slowpath_ladder_put_11,
    slowpath_ladder_put_12,
};
constexpr std::array<LadderFlush*, ladder_rung_count> flush_of_rung = {
    slowpath_ladder_flush_0, slowpath_ladder_flush_1, slowpath_ladder_flush_2,  slowpath_ladder_flush_3,
    slowpath_ladder_flush_4, slowpath_ladder_flush_5, slowpath_ladder_flush_6,  slowpath_ladder_flush_7,
    slowpath_ladder_flush_8, slowpath_ladder_flush_9, slowpath_ladder_flush_10, slowpath_ladder_flush_11,
    slowpath_ladder_flush_12};
constexpr int handle_rung = 5;
constexpr int datatype_rung = 7;

/// Two ranks, of unlike parts and units, in memory with an edge on both sides.
struct Parts {
    static constexpr std::size_t edge_bytes = 64;
    std::size_t part_bytes;
    std::vector<std::byte> memory = std::vector<std::byte>(2 * part_bytes + 3 * edge_bytes);
    std::array<Peer, 2> peers = {{{memory.data() + edge_bytes, part_bytes, 1},
                                  {memory.data() + 2 * edge_bytes + part_bytes, part_bytes - 40, 8}}};
    Window window{peers, 0};
    std::uint32_t handle = 0;

    explicit Parts(std::size_t bytes = 12288) : part_bytes(bytes) {
        window.begin_epoch();
        handle = slowpath_ladder_attach(&window);
    }
    ~Parts() { slowpath_ladder_detach(handle); }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    std::uintptr_t argument(int rung) const {
        return rung >= handle_rung ? handle : reinterpret_cast<std::uintptr_t>(&window);
    }
    void clear() { std::fill(memory.begin(), memory.end(), std::byte{0xee}); }
};

std::vector<std::byte> dense_bytes(std::size_t count) {
    std::vector<std::byte> data(count);
    std::uint64_t state = 1;
    for (auto& byte : data) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56);
    }
    return data;
}

struct Random {
    std::mt19937_64 engine;
    explicit Random(std::uint64_t seed) : engine(seed) {}
    std::int64_t in(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
    }
};

Datatype random_type(Random& random, int depth) {
    const Datatype old =
        depth == 0
            ? predefined_datatypes[static_cast<std::size_t>(random.in(0, predefined_datatypes.size() - 1))]
            : random_type(random, depth - 1);
    Datatype made = old;
    switch (random.in(0, 4)) {
        case 0:
            made = contiguous(random.in(0, 3), old);
            break;
        case 1:
            made = vector(random.in(1, 3), random.in(1, 3), random.in(3, 5), old);
            break;
        case 2:
            made = vector(random.in(1, 3), random.in(1, 2), random.in(-5, -2), old);
            break;
        case 3: {
            const std::array lengths = {random.in(0, 2), random.in(1, 3)};
            const std::array<std::int64_t, 2> displacements = {random.in(0, 1), 4};
            made = indexed(lengths, displacements, old);
            break;
        }
        default:
            if (depth > 0) return old;
            made = resized(old, random.in(-4, 0), random.in(16, 24));
            break;
    }
    if (depth > 0 && old != made) slowpath::layers::free(old);
    return made;
}

/// Arguments of a put: mostly right ones, some wrong.
struct PutCall {
    int origin_count;
    Datatype origin_type;
    int target;
    std::ptrdiff_t displacement;
    int target_count;
    Datatype target_type;
};

PutCall random_call(Random& random, std::span<const Datatype> types) {
    const auto type = [&] { return types[static_cast<std::size_t>(random.in(0, std::ssize(types) - 1))]; };
    PutCall call{};
    call.origin_type = type();
    call.origin_count = static_cast<int>(random.in(random.in(0, 9) == 0 ? -1 : 1, 5));
    const bool same = random.in(0, 1) == 0;
    call.target_type = same ? call.origin_type : type();
    call.target_count = same ? call.origin_count : static_cast<int>(random.in(0, 9));
    call.target = random.in(0, 9) == 0 ? static_cast<int>(random.in(-2, 3)) : 1;
    call.displacement = random.in(64, 200);
    if (random.in(0, 9) == 0) call.displacement = random.in(-9, 1700);
    if (random.in(0, 99) == 0) call.displacement = std::int64_t{1} << random.in(40, 62);
    return call;
}

}  // namespace slowpath::layers_test
