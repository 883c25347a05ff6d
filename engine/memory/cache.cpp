// SPDX-License-Identifier: Apache-2.0
#include "memory/cache.hpp"

namespace slowpath::memory {
namespace {

/// No longer than a line of any processor in use: a longer one is read or thrown out several times.
constexpr std::size_t line_bytes = 64;

#if defined(__x86_64__)
constexpr bool flushes = true;
/// CLFLUSH: x86-64 (SSE2), from all levels of all caches in the coherence domain.
void flush_line(const std::byte* at) {
    asm volatile("clflush %0" : : "m"(*at) : "memory");
}
void fence() {
    asm volatile("mfence" : : : "memory");
}
#elif defined(__aarch64__)
constexpr bool flushes = true;
/// DC CIVAC: by address to the point of coherency; Linux lets programs use it.
void flush_line(const std::byte* at) {
    asm volatile("dc civac, %0" : : "r"(at) : "memory");
}
void fence() {
    asm volatile("dsb sy" : : : "memory");
}
#else
constexpr bool flushes = false;
void flush_line(const std::byte*) {}
void fence() {}
#endif

/// Calls `act` with an address in each line that holds one of the bytes.
template <class Act>
void for_each_line(const std::byte* begin, std::size_t bytes, Act&& act) {
    if (bytes == 0) return;
    for (std::size_t at = 0; at < bytes; at += line_bytes) act(begin + at);
    act(begin + bytes - 1);  // where the first byte is not the first of a line
}

}  // namespace

void read_lines(const std::byte* begin, std::size_t bytes) {
    for_each_line(begin, bytes, [](const std::byte* at) {
        static_cast<void>(*static_cast<const volatile std::byte*>(at));
    });
}

bool can_flush() {
    return flushes;
}

void flush_lines(const std::byte* begin, std::size_t bytes) {
    fence();
    for_each_line(begin, bytes, flush_line);
    fence();
}

}  // namespace slowpath::memory
