// SPDX-License-Identifier: Apache-2.0
/// Bursts of the shmem layer's two functions; they answer nothing where they check nothing.
#pragma once

#include <cstring>
#include <type_traits>

#include "layers/burst_loop.hpp"

namespace slowpath::layers {

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

}  // namespace slowpath::layers
