// SPDX-License-Identifier: Apache-2.0
// The designs: layers called through libslowpath-layers.so, the same compiled into the loop, and limits.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "layers/burst.hpp"
#include "layers/complex.hpp"
#include "layers/error.hpp"
#include "layers/library.hpp"
#include "layers/shmem.hpp"
#include "layers/simple.hpp"
#include "layers/small_args.hpp"

namespace slowpath::layers {
namespace {

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

void flush(const Burst& burst) {
    slowpath_flush(burst.window);
}

template <class Puts>
constexpr Design called(std::string_view name, std::string_view meaning, bool checked, bool takes_datatypes) {
    return {name, meaning, Call::library, checked, in_all_orders<Puts>(), flush, takes_datatypes};
}

constexpr std::array called_designs = {
    called<FullPuts<slowpath_put_complex>>("complex", meaning_of::complex, true, true),
    called<FullPuts<slowpath_put_complex_unchecked>>("complex", meaning_of::complex, false, true),
    called<FullPuts<slowpath_put_simple>>("simple", meaning_of::simple, true, true),
    called<FullPuts<slowpath_put_simple_unchecked>>("simple", meaning_of::simple, false, true),
    called<SmallPuts<slowpath_put_small_args, false>>("small_args", meaning_of::small_args, true, false),
    called<SmallPuts<slowpath_put_small_args_unchecked, false>>("small_args", meaning_of::small_args, false,
                                                                false),
    called<ShmemPuts<slowpath_shmem_put_checked, false>>("shmem_put", meaning_of::shmem_put, true, false),
    called<ShmemPuts<slowpath_shmem_put, false>>("shmem_put", meaning_of::shmem_put, false, false),
    called<ShmemWords<slowpath_shmem_p_checked>>("shmem_p", meaning_of::shmem_p, true, false),
    called<ShmemWords<slowpath_shmem_p>>("shmem_p", meaning_of::shmem_p, false, false),
};

void fence(const Burst&) {
    std::atomic_thread_fence(std::memory_order_release);
}

template <class Puts>
constexpr Design inlined(std::string_view name, std::string_view meaning, bool checked,
                         bool takes_datatypes) {
    return {name, meaning, Call::inlined, checked, in_all_orders<Puts>(), fence, takes_datatypes};
}

constexpr std::array inlined_designs = {
    inlined<FullPuts<put_complex<true>>>("complex", meaning_of::complex, true, true),
    inlined<FullPuts<put_complex<false>>>("complex", meaning_of::complex, false, true),
    inlined<FullPuts<put_simple<true>>>("simple", meaning_of::simple, true, true),
    inlined<FullPuts<put_simple<false>>>("simple", meaning_of::simple, false, true),
    inlined<SmallPuts<put_small_args<true>, true>>("small_args", meaning_of::small_args, true, false),
    inlined<SmallPuts<put_small_args<false>, true>>("small_args", meaning_of::small_args, false, false),
    inlined<ShmemPuts<shmem_put_at<true>, true>>("shmem_put", meaning_of::shmem_put, true, false),
    inlined<ShmemPuts<shmem_put_at<false>, true>>("shmem_put", meaning_of::shmem_put, false, false),
    inlined<ShmemWords<shmem_p_at<true>>>("shmem_p", meaning_of::shmem_p, true, false),
    inlined<ShmemWords<shmem_p_at<false>>>("shmem_p", meaning_of::shmem_p, false, false),
};

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
        std::vector<Design> list(called_designs.begin(), called_designs.end());
        list.insert(list.end(), inlined_designs.begin(), inlined_designs.end());
        list.insert(list.end(), limits.begin(), limits.end());
        return list;
    }();
    return all;
}

}  // namespace slowpath::layers
