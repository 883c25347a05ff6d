// SPDX-License-Identifier: Apache-2.0
/// The clock frequency of the processor that this rank runs on, read outside the timed region.
#pragma once

#include <optional>
#include <string_view>

namespace slowpath::cannon {

struct ClockReading {
    std::optional<double> hz;
    std::string_view from;  ///< where it is from; without hz, why there is none
};

/// What the kernel says of this processor (cpufreq's scaling_cur_freq), else what a counted loop shows.
ClockReading read_clock();

/// What the kernel says of a processor; nullopt: it does not say.  @param folder /sys/devices/system/cpu.
std::optional<double> cpufreq_hz(const char* folder, int processor);

/// Cycles a second by a chain of dependent additions, one cycle each on every processor whose latencies are
/// known to us (uops.info; Arm's optimisation guides); the fastest of some tries of microseconds, since an
/// interruption only makes a try slower.  nullopt: not a known kind of processor.
std::optional<double> counted_hz();

}  // namespace slowpath::cannon
