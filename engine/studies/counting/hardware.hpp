// SPDX-License-Identifier: Apache-2.0
/// Instructions by the processor's own counter, as a cross-check where there is one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace slowpath::counting {

struct HardwareCount {
    std::optional<std::uint64_t>
        instructions;    ///< retired in user mode by this thread, reading the counter included
    std::string reason;  ///< why there are none; "" if there are
};

/// Counts `region` by perf_event_open(2), event instructions:u.  Exact to some instructions per interrupt;
/// the difference between regions of one and two lengths is free of what reading costs.
HardwareCount count_by_hardware(const std::function<void()>& region);

}  // namespace slowpath::counting
