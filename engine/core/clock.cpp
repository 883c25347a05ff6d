// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

#include <fstream>

namespace slowpath {

std::int64_t claimed_resolution_ns() {
    timespec resolution{};
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return static_cast<std::int64_t>(resolution.tv_sec) * 1'000'000'000 + resolution.tv_nsec;
}

std::string clock_source() {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return (file >> name) ? name : std::string("unknown");
}

}  // namespace slowpath
