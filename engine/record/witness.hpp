// SPDX-License-Identifier: Apache-2.0
/// What the kernel did for this process: read before and after a block, never in a timed region.
#pragma once

#include <cstdint>

#include "record/block.hpp"

namespace slowpath {

struct Witness {
    bool valid = false;  ///< getrusage answered
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;
    std::int64_t user_time_ns = 0;
    std::int64_t system_time_ns = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;
    std::int32_t cpu = -1;
};

/// getrusage(RUSAGE_SELF) and sched_getcpu, now.
Witness read_witness();

/// Put the difference of two readings into a header, with its flags.
void store_witness(BlockHeader& header, const Witness& before, const Witness& after);

}  // namespace slowpath
