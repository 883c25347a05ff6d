// SPDX-License-Identifier: Apache-2.0
/// Was a repetition disturbed?  What the kernel took from this rank, and what other processes used meanwhile.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace slowpath::cannon {

/// Readings before and after a repetition; outside the timed region.
struct LoadReading {
    std::int64_t involuntary_switches = 0;  ///< of this process (getrusage)
    double own_s = 0;                       ///< processor time of this process
    std::optional<double> node_s;  ///< processor time of everything on the node (/proc/stat), 10 ms ticks
};

LoadReading read_load();

/// Processor time that others than these ranks used between two readings, in seconds; nullopt: unknown, or
/// the ranks are on several nodes.  Collective.
std::optional<double> other_load_s(MPI_Comm communicator, bool one_node, const LoadReading& before,
                                   const LoadReading& after);

/// A barrier in which those that come early sleep.  Collective.
void wait_asleep(MPI_Comm communicator);

/// Waits up to limit_s until nothing else is runnable on rank 0's node; everybody sleeps meanwhile, since a
/// spinning rank is load itself.  Collective.
void wait_for_quiet(MPI_Comm communicator, double limit_s);

}  // namespace slowpath::cannon
