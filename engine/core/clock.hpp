// SPDX-License-Identifier: Apache-2.0
/// The one time base of all samples: CLOCK_MONOTONIC, int64 nanoseconds, the same for all processes of a
/// node. MPI_Wtime is no time base: its origin and its steps differ between libraries (MPI-4.1 section 9.6).
#pragma once

#include <concepts>
#include <cstdint>
#include <ctime>
#include <string>

namespace slowpath {

template <class C>
concept Clock = requires(C clock) {
    { clock.now_ns() } -> std::same_as<std::int64_t>;
};

inline std::int64_t clock_ns(clockid_t clock) noexcept {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class MonotonicClock {
  public:
    std::int64_t now_ns() const noexcept { return clock_ns(CLOCK_MONOTONIC); }
};

/// What the system claims the resolution is, ns; the measured quantum is often coarser.
std::int64_t claimed_resolution_ns();

/// Name of the kernel's clock source, e.g. "tsc"; "unknown" when the system does not say.
std::string clock_source();

}  // namespace slowpath
