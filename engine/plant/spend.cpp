// SPDX-License-Identifier: Apache-2.0
#include "plant/spend.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace slowpath::plant {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 16;

/// Memory of this library alone, mapped without the mmap that it watches.
char* own_memory(std::size_t bytes) {
    const long got =
        syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    return got == -1 ? nullptr : reinterpret_cast<char*>(got);
}

/// System calls that are not counted by a library that watches the C library's own functions.
void fault_until(std::int64_t end_ns) {
    static char* const memory = own_memory(pages * page);
    while (now_ns() < end_ns) {
        if (memory == nullptr) continue;
        for (std::size_t i = 0; i < pages && now_ns() < end_ns; ++i)
            *const_cast<volatile char*>(memory + i * page) = 1;
        syscall(SYS_madvise, memory, pages * page, MADV_DONTNEED);
    }
}

void wait_until(std::int64_t end_ns) {
    constexpr std::int64_t sleepy_ns = 100'000;  // below, a sleep ends too late
    constexpr std::int64_t awake_ns = 50'000;
    static const int slack = prctl(PR_SET_TIMERSLACK, 1UL);
    static_cast<void>(slack);
    std::int64_t left_ns = end_ns - now_ns();
    if (left_ns > sleepy_ns) {
        left_ns -= awake_ns;
        const timespec time{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    }
    while (now_ns() < end_ns) sched_yield();
}

}  // namespace

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

void spend_until(std::int64_t end_ns, Place place) {
    if (place == Place::kernel) return fault_until(end_ns);
    if (place == Place::waiting) return wait_until(end_ns);
    while (now_ns() < end_ns) {
    }
}

void make_cold(const void* begin, std::size_t bytes) {
    constexpr std::size_t line = 64;
#if defined(__x86_64__)
    const auto first = reinterpret_cast<std::uintptr_t>(begin) / line * line;
    const auto end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
    for (std::uintptr_t at = first; at < end; at += line) _mm_clflush(reinterpret_cast<const void*>(at));
    _mm_mfence();
#else
    static_cast<void>(begin);
    static_cast<void>(bytes);
    constexpr std::size_t other = 64 * 1024 * 1024;
    static char* const memory = own_memory(other);
    if (memory == nullptr) return;
    for (std::size_t at = 0; at < other; at += line) *const_cast<volatile char*>(memory + at) = 1;
#endif
}

}  // namespace slowpath::plant
