// SPDX-License-Identifier: Apache-2.0
/// The record of this process: memory of fixed length, and the file that it is written to.
#pragma once

#include <stdint.h>

#include "profiler/layout.hpp"

namespace slowpath::profiler {

/// A call of NCCL that ended, or of which nothing more will be heard.
struct Call {
    layout::Key key;
    uint64_t number;  // as layout::Sample
    int64_t call_ns, launch_ns, launched_ns, seen_ns;
    uint64_t gpu_start_ns, gpu_end_ns;
    uint32_t channels_started, channels_ended;
    int32_t peer;
    bool has_task;  // NCCL launched it by a kernel that it reports
    bool has_gpu_timer;

    /// All channels that began have ended, so that their times are the call's.
    bool has_gpu_time() const {
        return channels_started > 0 && channels_started == channels_ended && gpu_end_ns >= gpu_start_ns;
    }
};

int64_t monotonic_ns();

/// Make the file in the folder $SLOWPATH_WATCH; once a process.
/// @return False: there is none, and nothing is to be recorded.
bool open_record(uint32_t interface_version, layout::Timer timer);

/// @return Its row; -1: no room.
int32_t add_communicator(uint64_t id, const char* name, int nodes, int ranks, int rank);
/// What an older interface says only with a communicator's first call.
void name_communicator(int32_t row, uint64_t id, const char* name, int rank);
void close_communicator(int32_t row);

void add_call(const Call& call);
/// Events that NCCL reported, in stretches.
void add_events(uint64_t events);
/// Write what is new. @param is_last The process ends.
void write_record(bool is_last);

/// Around fork: hold_record before it, then release_record in the parent, leave_record in the child, which
/// has no record unless it calls NCCL itself.
void hold_record();
void release_record();
void leave_record();

}  // namespace slowpath::profiler
