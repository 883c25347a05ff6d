// SPDX-License-Identifier: Apache-2.0
/// What every design of a put is given, and what it gives: one interface for layers, limits and the ladder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "layers/datatype.hpp"
#include "layers/window.hpp"

namespace slowpath::layers {

/// Where the puts of a burst go, one after the other.
enum class Order : std::uint8_t {
    same,        ///< always slot 0: the stores merge in the store buffer
    sequential,  ///< slot i, round and round
    line,        ///< a new cache line of 64 bytes each time
    random,      ///< a fixed random permutation of the slots
};
inline constexpr std::size_t orders = 4;

/// One burst: `puts` puts from origin slot to the equal target slot.
struct Burst {
    Window* window = nullptr;
    int target = 0;                     ///< rank
    std::byte* local = nullptr;         ///< this rank's own part of the window: the symmetric address
    const std::byte* origin = nullptr;  ///< slot 0 of the data to send; as many slots as the target has
    Datatype origin_type{};
    Datatype target_type{};
    int count = 1;                            ///< of both datatypes
    std::uint64_t message_bytes = 8;          ///< payload of one put
    std::uint64_t slot_bytes = 8;             ///< from one slot to the next, both sides
    std::uint64_t mask = 0;                   ///< slots - 1; slots is a power of two
    const std::uint32_t* shuffled = nullptr;  ///< [mask + 1], Order::random
    std::int64_t puts = 1;
};

/// @return 0, or the code of the first put that failed (layers/error.hpp).
using RunPuts = int (*)(const Burst&);

enum class Call : std::uint8_t {
    library,
    inlined
};  ///< through libslowpath-layers.so, or in the loop itself

struct Design {
    std::string_view name;     ///< as the parameter `design` has it
    std::string_view meaning;  ///< one line
    Call call;
    bool checked;
    int rung;                           ///< of the ladder; -1: no rung
    std::array<RunPuts, orders> puts;   ///< by Order; null where the design has no such order
    void (*synchronise)(const Burst&);  ///< ends the burst: the data is visible at the target
    bool takes_datatypes;               ///< false: bytes only
};

/// All designs but real libraries: layers, limits and the ladder's rungs.
std::span<const Design> designs();

}  // namespace slowpath::layers
