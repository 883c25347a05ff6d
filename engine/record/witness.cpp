// SPDX-License-Identifier: Apache-2.0
#include "record/witness.hpp"

#include <sched.h>
#include <sys/resource.h>

namespace slowpath {
namespace {

std::int64_t nanoseconds(const timeval& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::int64_t>(time.tv_usec) * 1000;
}

}  // namespace

Witness read_witness() {
    Witness witness;
    rusage usage{};
    witness.valid = getrusage(RUSAGE_SELF, &usage) == 0;
    witness.minor_faults = usage.ru_minflt;
    witness.major_faults = usage.ru_majflt;
    witness.user_time_ns = nanoseconds(usage.ru_utime);
    witness.system_time_ns = nanoseconds(usage.ru_stime);
    witness.voluntary_switches = usage.ru_nvcsw;
    witness.involuntary_switches = usage.ru_nivcsw;
    witness.cpu = sched_getcpu();
    return witness;
}

void store_witness(BlockHeader& header, const Witness& before, const Witness& after) {
    header.cpu_begin = before.cpu;
    header.cpu_end = after.cpu;
    if (before.cpu != after.cpu) header.flags |= block_flag::migrated;
    if (!before.valid || !after.valid) return;
    header.flags |= block_flag::witness;
    header.minor_faults = after.minor_faults - before.minor_faults;
    header.major_faults = after.major_faults - before.major_faults;
    header.user_time_ns = after.user_time_ns - before.user_time_ns;
    header.system_time_ns = after.system_time_ns - before.system_time_ns;
    header.voluntary_switches = after.voluntary_switches - before.voluntary_switches;
    header.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
}

}  // namespace slowpath
