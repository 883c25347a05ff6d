// SPDX-License-Identifier: Apache-2.0
/// Calls of NCCL between their first and their last event. Pure but for the clock, which the caller reads.
///
/// A handle that NCCL gets is a number, not an address: one that is too old, or of another process, leads
/// nowhere.
#pragma once

#include <stdint.h>

#include "profiler/record.hpp"

namespace slowpath::profiler {

/// An event, whichever version of the interface it came by. Of names nullptr: not known.
struct Seen {
    enum What { nothing, group, call, task, channel } what = nothing;
    uint64_t parent = 0;  // handle
    bool is_message = false;
    const char *function = nullptr, *datatype = nullptr, *algorithm = nullptr, *protocol = nullptr;
    uint64_t count = 0;
    uint32_t channels = 0;  // 0: not known
    int32_t peer = -1;
    uint64_t timer_ns = 0;      // of the GPU; 0: the host's clock stands for it
    uint64_t communicator = 0;  // of an older interface; 0: not said
    const char* communicator_name = nullptr;
    int32_t rank = -1;
};

/// When nothing more will be heard of a call.
enum class End {
    at_launch,    // kernels are not reported
    at_channels,  // when as many channels ended as the call has, if that is known
    unknown,      // a network's operations are reported, which a call may have or not
};

/// A communicator whose calls are followed. nullptr: there is no room for another.
/// @param name, nodes, ranks, rank nullptr and -1: not known; then the first call that says so names it.
struct Communicator;
Communicator* open_communicator(End end, uint64_t id, const char* name, int nodes, int ranks, int rank);
void close(Communicator& communicator);

/// @return Handle for NCCL; 0: nothing more is wanted of it.
uint64_t start(Communicator& communicator, const Seen& seen, int64_t now_ns);
/// The GPU's timer when a channel ended.
void end_channel(uint64_t handle, uint64_t timer_ns);
void stop(uint64_t handle, int64_t now_ns);

/// The process ends: what is still open is counted as it is.
void finish_all();
/// In a child made by fork: all of it is the parent's.
void forget_all();

}  // namespace slowpath::profiler
