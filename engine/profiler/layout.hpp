// SPDX-License-Identifier: Apache-2.0
/// HOST-PID.nccl: what a process left of its NCCL calls. src/slowpath/watch/nccl/record.py reads it, and a
/// test holds the two together. Little endian; times are nanoseconds; 0 where nothing is known.
#pragma once

#include <stdint.h>

namespace slowpath::profiler::layout {

inline constexpr char magic[8] = {'S', 'P', 'N', 'C', 'C', 'L', '0', '1'};
inline constexpr uint32_t version = 1;
inline constexpr uint32_t communicator_capacity = 1024, row_capacity = 4096, sample_capacity = 32768;
inline constexpr uint32_t header_bytes = 4096;

/// Where a call's time comes from.
enum Timer : uint32_t {
    host_only = 0,  // nothing says when the GPU was done
    proxy = 1,      // NCCL's proxy thread: when network operations began and ended, or (version 3) kernels
    gpu = 2,        // the GPU's timer, written by NCCL's kernels (from version 4 on)
};

struct Section {
    uint64_t offset;
    uint32_t element_bytes, used;
};

struct Header {
    char magic[8];
    uint32_t version, interface_version;  // the latter: of NCCL's profiler interface
    int64_t pid;
    int64_t start_monotonic_ns, start_realtime_ns;  // when the record was opened
    int64_t end_monotonic_ns;                       // when it was last written
    Section communicators, rows, samples;
    uint64_t sampled_below;  // a call is kept if its hash is below; all at first
    uint64_t events;         // that NCCL reported
    uint64_t lost_rows;      // calls without room for a row of their own kind
    uint64_t lost_communicators;
    uint64_t unfinished;        // calls that were not seen to end
    uint32_t is_closed, timer;  // the process ended by itself; the best Timer that this version has
    char host[64];
    char program[256];
};
static_assert(sizeof(Header) == 464 && sizeof(Header) <= header_bytes);

struct Communicator {
    uint64_t id;
    int32_t rank, ranks, nodes;  // -1: not known
    uint32_t is_closed;
    int64_t opened_ns;
    uint64_t calls;        // that ended
    uint64_t busy_ns;      // in which any of its kernels ran, by the GPU's timer
    uint64_t last_gpu_ns;  // its last one's end
    char name[48];
    uint64_t reserved[2];
};
static_assert(sizeof(Communicator) == 120);

/// What calls of one row have in common.
struct Key {
    char function[16], datatype[16], algorithm[16], protocol[16];
    uint64_t count;  // elements, as NCCL has them: of a rank's own part in AllGather and ReduceScatter
    uint32_t communicator;
    uint16_t channels;
    uint16_t group_calls;  // calls that share a kernel; their times are one
};
static_assert(sizeof(Key) == 80);

struct Row {
    Key key;
    uint64_t calls;          // all of them, the first included
    int64_t first_start_ns;  // CLOCK_MONOTONIC
    uint64_t first_host_ns;  // from the program's call (version 5; else from NCCL's launch) until NCCL had
                             // launched it
    uint64_t first_gpu_ns;   // from its first channel's start to its last channel's end
    uint64_t host_calls, host_ns, host_least_ns, host_most_ns;  // later ones
    uint64_t gpu_calls, gpu_ns, gpu_least_ns, gpu_most_ns;      // later ones
    uint64_t reserved[2];
};
static_assert(sizeof(Row) == 192);

/// One call.
struct Sample {
    uint64_t
        number;  // of a collective among those of its communicator, from 1 on; of a message among messages
    int64_t start_ns, launched_ns;  // CLOCK_MONOTONIC: the program's call, and when NCCL had launched it
    uint64_t gpu_start_ns, gpu_end_ns;
    int64_t seen_ns;  // CLOCK_MONOTONIC when its end was seen
    uint32_t row;
    int32_t peer;  // of a message; -1: a collective
    uint64_t reserved;
};
static_assert(sizeof(Sample) == 64);

}  // namespace slowpath::profiler::layout
