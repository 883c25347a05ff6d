// SPDX-License-Identifier: Apache-2.0
/// What the thread that started MPI does, looked at from outside of it: a thread of this library's own reads
/// /proc some tens of times a second. So is known what a rank does where it makes no call.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace slowpath::watch {

/// struct linux_dirent64, which no header has.
struct DirectoryEntry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short bytes;
    unsigned char kind;
    char name[];
};

/// Begin to look at the calling thread. A thread that the C library knows nothing of, so that the program
/// stays single-threaded for it; with all signals blocked, and files of its own that the program does not
/// see.
void begin_samples();
void end_samples();

/// Take what was seen so far into the record. Of one thread at a time.
void publish_samples();

/// The thread that looks; 0: there is none.
pid_t sampling_thread();

}  // namespace slowpath::watch
