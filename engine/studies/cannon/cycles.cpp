// SPDX-License-Identifier: Apache-2.0
#include "cannon/cycles.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "core/clock.hpp"

namespace slowpath::cannon {
namespace {

constexpr int tries = 5;
[[maybe_unused]] constexpr int rounds = 1000;  // of `unrolled` additions: about 5 us
[[maybe_unused]] constexpr int unrolled = 16;

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool known = true;

/// Register plus itself: an addition of a constant takes no cycle on some processors, which fold a chain.
void additions() {
    std::uint64_t value = 1;
    for (int i = 0; i < rounds; ++i) {
#define SLOWPATH_FOUR(text) text text text text
#ifdef __x86_64__
        asm volatile(SLOWPATH_FOUR(SLOWPATH_FOUR("add %0, %0\n\t")) : "+r"(value) : : "cc");
#else
        asm volatile(SLOWPATH_FOUR(SLOWPATH_FOUR("add %0, %0, %0\n\t")) : "+r"(value));
#endif
#undef SLOWPATH_FOUR
    }
}
#else
constexpr bool known = false;
void additions() {}
#endif

}  // namespace

std::optional<double> cpufreq_hz(const char* folder, int processor) {
    std::ifstream file(std::string(folder) + "/cpu" + std::to_string(processor) +
                       "/cpufreq/scaling_cur_freq");
    double khz = 0;
    file >> khz;
    if (!file || khz <= 0) return std::nullopt;
    return 1e3 * khz;
}

std::optional<double> counted_hz() {
    if (!known) return std::nullopt;
    const MonotonicClock clock{};
    std::int64_t fastest_ns = 0;
    for (int i = 0; i < tries; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        additions();
        const std::int64_t spent_ns = clock.now_ns() - begin_ns;
        fastest_ns = i == 0 ? spent_ns : std::min(fastest_ns, spent_ns);
    }
    if (fastest_ns <= 0) return std::nullopt;
    return 1e9 * rounds * unrolled / static_cast<double>(fastest_ns);
}

ClockReading read_clock() {
    if (const auto hz = cpufreq_hz("/sys/devices/system/cpu", sched_getcpu())) return {hz, "cpufreq"};
    if (const auto hz = counted_hz()) return {hz, "counted loop"};
    return {std::nullopt, "the kernel reports none, and no counted loop is known for this processor"};
}

}  // namespace slowpath::cannon
