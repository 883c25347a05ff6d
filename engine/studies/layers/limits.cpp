// SPDX-License-Identifier: Apache-2.0
// Limits, which move data or do nothing, and the list of all designs.
#include <atomic>
#include <cstring>
#include <vector>

#include "layers/burst.hpp"
#include "layers/library.hpp"

namespace slowpath::layers {
namespace {

void fence(const Burst&) {
    std::atomic_thread_fence(std::memory_order_release);
}

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// The loop's own barrier keeps each load and store. Volatile would do so as well, but keeps
// the compiler from writing an address into the instruction that uses it, and these are the shortest loops
// there are.

[[gnu::always_inline]] inline void store(std::byte* at, std::uint64_t word) {
    std::memcpy(at, &word, word_bytes);
}

[[gnu::always_inline]] inline std::uint64_t load(const std::byte* at) {
    std::uint64_t word;
    std::memcpy(&word, at, word_bytes);
    return word;
}

/// Run `put_word` once a word: the whole loop is tight where a put is one word.
template <Order order, class PutWord>
[[gnu::always_inline]] inline int run_words(const Burst& burst, PutWord put_word) {
    const std::uint64_t message_bytes = burst.message_bytes;
    if (message_bytes == word_bytes) {
        return run_puts<order>(burst, 1, [=](std::uint64_t place) {
            put_word(place);
            return int{success};
        });
    }
    return run_puts<order>(burst, 1, [=](std::uint64_t place) {
        for (std::uint64_t word = 0; word < message_bytes; word += word_bytes) put_word(place + word);
        return int{success};
    });
}

/// Stores of one value, the first word of the origin.
struct Stores {
    template <Order order>
    static int run(const Burst& burst) {
        std::byte* const target = burst.window->bases[static_cast<std::size_t>(burst.target)];
        const std::uint64_t value = load(burst.origin);
        return run_words<order>(burst, [=](std::uint64_t place) { store(target + place, value); });
    }
};

struct LoadsAndStores {
    template <Order order>
    static int run(const Burst& burst) {
        std::byte* const target = burst.window->bases[static_cast<std::size_t>(burst.target)];
        const std::byte* const origin = burst.origin;
        return run_words<order>(burst,
                                [=](std::uint64_t place) { store(target + place, load(origin + place)); });
    }
};

struct FencedStores {
    template <Order order>
    static int run(const Burst& burst) {
        std::byte* const target = burst.window->bases[static_cast<std::size_t>(burst.target)];
        const std::uint64_t value = load(burst.origin);
        return run_words<order>(burst, [=](std::uint64_t place) {
            store(target + place, value);
            std::atomic_thread_fence(std::memory_order_seq_cst);
        });
    }
};

/// Eight stores for one turn of the loop, to consecutive words; what remains of a burst, one by one.
int unrolled_stores(const Burst& burst) {
    constexpr std::uint64_t turn = 8;
    std::byte* const target = burst.window->bases[static_cast<std::size_t>(burst.target)];
    const std::uint64_t value = load(burst.origin);
    const std::uint64_t bytes = (burst.mask + 1) * burst.slot_bytes;
    if (burst.message_bytes != burst.slot_bytes || !is_power_of_two(bytes)) return error_slots;
    const std::uint64_t words = static_cast<std::uint64_t>(burst.puts) * (burst.message_bytes / word_bytes);
    const std::uint64_t mask = bytes - 1;
    const std::uint64_t whole = bytes < turn * word_bytes ? 0 : words / turn * turn;
    const std::uint64_t end = whole * word_bytes;
    for (std::uint64_t place = 0; place != end; place += turn * word_bytes) {
        asm volatile("" ::: "memory");
        std::byte* const at = target + (place & mask);
#pragma GCC unroll 8
        for (std::uint64_t word = 0; word < turn; ++word) store(at + word * word_bytes, value);
    }
    for (std::uint64_t word = whole; word < words; ++word) store(target + (word * word_bytes & mask), value);
    return success;
}

/// By a pointer that the compiler can't see through, as a call of the C library's own is.
struct Copies {
    template <Order order>
    static int run(const Burst& burst) {
        static void* (*volatile pointer)(void*, const void*, std::size_t) = std::memcpy;
        const auto copy = pointer;
        std::byte* const target = burst.window->bases[static_cast<std::size_t>(burst.target)];
        const std::byte* const origin = burst.origin;
        const std::uint64_t message_bytes = burst.message_bytes;
        return run_puts<order>(burst, 1, [=](std::uint64_t place) {
            copy(target + place, origin + place, message_bytes);
            return int{success};
        });
    }
};

constexpr Design limit(std::string_view name, std::string_view meaning, Call call,
                       std::array<RunPuts, orders> puts) {
    return {name, meaning, call, false, puts, fence, false};
}

constexpr std::array limits = {
    limit("empty_call", "a call of the arguments of complex that does nothing", Call::library,
          in_all_orders<FullPuts<slowpath_empty_call>>()),
    limit("empty_call_5", "a call of the arguments of small_args that does nothing", Call::library,
          in_all_orders<SmallPuts<slowpath_empty_call_5, false>>()),
    limit("store", "a loop that stores one value", Call::inlined, in_all_orders<Stores>()),
    limit("load_store", "a loop that loads and stores", Call::inlined, in_all_orders<LoadsAndStores>()),
    limit("unrolled_stores", "eight stores for one turn of the loop", Call::inlined,
          {nullptr, unrolled_stores, nullptr, nullptr}),
    limit("memcpy", "memcpy of the C library, by pointer", Call::library, in_all_orders<Copies>()),
    limit("fenced_store", "a loop that stores, with a full memory fence after each store", Call::inlined,
          in_all_orders<FencedStores>()),
};

}  // namespace

std::span<const Design> designs() {
    static const std::vector<Design> all = [] {
        std::vector<Design> list(limits.begin(), limits.end());
        list.insert(list.begin(), inlined_designs().begin(), inlined_designs().end());
        list.insert(list.begin(), called_designs().begin(), called_designs().end());
        return list;
    }();
    return all;
}

}  // namespace slowpath::layers
