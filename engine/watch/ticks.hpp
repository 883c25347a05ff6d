// SPDX-License-Identifier: Apache-2.0
/// The clock of the record: a few nanoseconds a reading.
#pragma once

#include <time.h>

#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace slowpath::watch {

enum class TicksKind : std::uint32_t { counter = 1, monotonic_ns = 2 };

inline std::uint64_t clock_ns(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

/// The counter only where it runs at one rate whatever the core's clock and sleep states: AArch64's always
/// does, x86's says so (CPUID 80000007h, EDX bit 8).
inline TicksKind find_ticks_kind() {
#if defined(__aarch64__)
    return TicksKind::counter;
#elif defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool is_invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
    return is_invariant ? TicksKind::counter : TicksKind::monotonic_ns;
#else
    return TicksKind::monotonic_ns;
#endif
}

/// Found when the library is loaded.
extern TicksKind ticks_kind;

inline std::uint64_t now_ticks() {
#if defined(__x86_64__)
    if (ticks_kind == TicksKind::counter) [[likely]]
        return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
    return monotonic_ns();
}

}  // namespace slowpath::watch
