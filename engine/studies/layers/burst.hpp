// SPDX-License-Identifier: Apache-2.0
/// What every design of a put is given, what it gives, and the loop around it: one interface for layers,
/// limits and OpenSHMEM.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "layers/datatype.hpp"
#include "layers/error.hpp"
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
    std::array<RunPuts, orders> puts;   ///< by Order; null where the design has no such order
    void (*synchronise)(const Burst&);  ///< ends the burst: the data is visible at the target
    bool takes_datatypes;               ///< false: bytes only
};

/// All designs but real libraries: layers and limits.
std::span<const Design> designs();

inline constexpr std::uint64_t line_bytes = 64;

/// std::has_single_bit counts bits, by a call where the processor's instruction for it can't be relied upon.
constexpr bool is_power_of_two(std::uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/// The loop around every burst. What it does apart from the put is the same for all designs, so that rates
/// compare: a slot's place comes from the put's number and a mask, not from the last place, which would be a
/// chain of dependent instructions; and the compiler may assume nothing about memory from one put to the
/// next.
///
/// Run `put` for each slot of the burst in this order.
/// @param unit_bytes What places are counted in: 1, or the target's displacement unit.
/// @param put int(std::uint64_t place): 0, or a code that ends the burst.
template <Order order, class Put>
[[gnu::always_inline]] inline int run_puts(const Burst& burst, std::uint64_t unit_bytes, Put put) {
    if (!is_power_of_two(burst.slot_bytes) || burst.slot_bytes % unit_bytes != 0) [[unlikely]]
        return error_slots;
    const auto puts = static_cast<std::uint64_t>(burst.puts);
    const std::uint64_t slot = burst.slot_bytes / unit_bytes;
    if constexpr (order == Order::sequential || order == Order::line) {
        const std::uint64_t step = order == Order::line ? std::max(slot, line_bytes / unit_bytes) : slot;
        const std::uint64_t mask = burst.mask * slot;
        const std::uint64_t end = puts * step;
        for (std::uint64_t place = 0; place != end; place += step) {
            asm volatile("" ::: "memory");
            if (const int code = put(place & mask)) [[unlikely]]
                return code;
        }
    } else {
        const std::uint32_t* const shuffled = burst.shuffled;
        const std::uint64_t mask = burst.mask;
        for (std::uint64_t i = 0; i != puts; ++i) {
            asm volatile("" ::: "memory");
            const std::uint64_t place = order == Order::random ? shuffled[i & mask] * slot : 0;
            if (const int code = put(place)) [[unlikely]]
                return code;
        }
    }
    return success;
}

/// The four instances of a burst, by Order.
/// @tparam Puts Has `template <Order> static int run(const Burst&)`.
template <class Puts>
constexpr std::array<RunPuts, orders> in_all_orders() {
    return {Puts::template run<Order::same>, Puts::template run<Order::sequential>,
            Puts::template run<Order::line>, Puts::template run<Order::random>};
}

// The bursts copy what the loop needs out of the Burst, so that it stays in registers: a reference to the
// Burst would be followed again after each store, which might have changed it.

/// Bursts of a put with MPI_Put's arguments.
template <auto put>
struct FullPuts {
    template <Order order>
    static int run(const Burst& burst) {
        const std::uint64_t unit_bytes = burst.window->peers[burst.target].displacement_unit_bytes;
        return run_puts<order>(burst, unit_bytes,
                               [unit_bytes, origin = burst.origin, count = burst.count,
                                from = burst.origin_type, target = burst.target, to = burst.target_type,
                                window = static_cast<const Window*>(burst.window)](std::uint64_t place) {
                                   return put(origin + place * unit_bytes, count, from, target,
                                              static_cast<std::ptrdiff_t>(place), count, to, window);
                               });
    }
};

/// Bursts of a put of bytes to an offset.
/// @tparam constant Whether a length of 8 bytes is written down at the call, as programs do that inline a
/// put.
template <auto put, bool constant>
struct SmallPuts {
    template <Order order>
    static int run(const Burst& burst) {
        if constexpr (constant) {
            constexpr std::integral_constant<std::size_t, sizeof(std::uint64_t)> word{};
            if (burst.message_bytes == word) return run_with<order>(burst, word);
        }
        return run_with<order>(burst, burst.message_bytes);
    }

  private:
    template <Order order, class Bytes>
    [[gnu::always_inline]] static int run_with(const Burst& burst, Bytes bytes) {
        return run_puts<order>(burst, 1,
                               [bytes, origin = burst.origin, target = burst.target,
                                window = static_cast<const Window*>(burst.window)](std::uint64_t place) {
                                   return put(origin + place, bytes, target, place, window);
                               });
    }
};

/// @return What the call answers; success, if nothing.
template <auto function, class... Arguments>
[[gnu::always_inline]] inline int answer(Arguments... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<decltype(function), Arguments...>>) {
        function(arguments...);
        return success;
    } else {
        return function(arguments...);
    }
}

/// Call `function` for `offset_bytes` of a symmetric object: with both, where it takes both, else with their
/// sum.
/// @return What the call answers; success, if nothing.
template <auto function, class Symmetric, class... Arguments>
[[gnu::always_inline]] inline int put_to(std::byte* object, std::uint64_t offset_bytes,
                                         Arguments... arguments) {
    if constexpr (std::is_invocable_v<decltype(function), std::byte*, std::uint64_t, Arguments...>)
        return function(object, offset_bytes, arguments...);
    else
        return answer<function>(reinterpret_cast<Symmetric*>(object + offset_bytes), arguments...);
}

/// @tparam constant As for SmallPuts.
template <auto put, bool constant>
struct ShmemPuts {
    template <Order order>
    static int run(const Burst& burst) {
        if constexpr (constant) {
            constexpr std::integral_constant<std::size_t, sizeof(std::uint64_t)> word{};
            if (burst.message_bytes == word) return run_with<order>(burst, word);
        }
        return run_with<order>(burst, burst.message_bytes);
    }

  private:
    template <Order order, class Bytes>
    [[gnu::always_inline]] static int run_with(const Burst& burst, Bytes bytes) {
        return run_puts<order>(
            burst, 1,
            [bytes, local = burst.local, origin = burst.origin, target = burst.target](std::uint64_t place) {
                return put_to<put, std::byte>(local, place, static_cast<const void*>(origin + place),
                                              std::size_t{bytes}, target);
            });
    }
};

/// A put of n words is n calls, as `p` moves one.
template <auto p>
struct ShmemWords {
    template <Order order>
    static int run(const Burst& burst) {
        const auto put_word = [local = burst.local, origin = burst.origin,
                               target = burst.target](std::uint64_t place) {
            std::uint64_t word;
            std::memcpy(&word, origin + place, sizeof word);
            return put_to<p, std::uint64_t>(local, place, word, target);
        };
        const std::uint64_t message_bytes = burst.message_bytes;
        if (message_bytes == sizeof(std::uint64_t)) return run_puts<order>(burst, 1, put_word);
        return run_puts<order>(burst, 1, [put_word, message_bytes](std::uint64_t place) {
            for (std::uint64_t word = 0; word < message_bytes; word += sizeof(std::uint64_t))
                if (const int code = put_word(place + word)) return code;
            return int{success};
        });
    }
};

/// A layer is the same whether called or inlined, checked or not.
namespace meaning_of {
inline constexpr std::string_view complex =
    "MPI_Put's arguments; both datatypes are objects that are read on each call";
inline constexpr std::string_view simple =
    "MPI_Put's arguments; a predefined datatype's handle holds its size";
inline constexpr std::string_view small_args = "five arguments: so many bytes to an offset in bytes";
inline constexpr std::string_view shmem_put = "as shmem_putmem: bytes to a symmetric address";
inline constexpr std::string_view shmem_p = "as shmem_double_p: one word by value to a symmetric address";
}  // namespace meaning_of

// What designs() is made of, besides limits: apart, so that each file's loops stay as they are.
std::span<const Design> called_designs();
std::span<const Design> inlined_designs();

}  // namespace slowpath::layers
