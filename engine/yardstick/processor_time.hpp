// SPDX-License-Identifier: Apache-2.0
/// Whether the kernel tells a process's user time from its system time. One that samples at timer ticks
/// (CONFIG_TICK_CPU_ACCOUNTING) does not: it shares out what a process ran by the ticks of its whole life, so
/// that a spin in user space looks like work of the kernel, and the other way round (kernel/sched/cputime.c).
#pragma once

#include <cstdint>
#include <string>

namespace slowpath::yardstick {

/// What getrusage(2) says of a stretch of work, ns.
struct ProcessorTime {
    std::int64_t user_ns = 0;
    std::int64_t system_ns = 0;
};

/// Some 1.5 ms of arithmetic alone.
ProcessorTime of_user_work();
/// Some 1.5 ms of mapping and unmapping pages alone.
ProcessorTime of_kernel_work();
/// The line `processor_time` for events.jsonl (docs/internals/record.md), after doing both.
std::string processor_time_line(int rank);

}  // namespace slowpath::yardstick
