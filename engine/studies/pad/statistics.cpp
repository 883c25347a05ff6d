// SPDX-License-Identifier: Apache-2.0
#include "pad/statistics.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

#include "pad/settings.hpp"
#include "pad/slowpath_pad.h"

namespace slowpath::pad {
namespace {

struct Entry {
    std::uintptr_t address;  // 0: free
    std::size_t added_bytes;
};

/// Padded allocations alive: a hash table with linear probing, of fixed size since a library that is
/// preloaded into any process had better allocate nothing. Untouched pages of it cost nothing.
constexpr std::size_t table_size = std::size_t{1} << 16;
constexpr std::size_t most_entries = table_size / 4 * 3;

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit Entry table[table_size] = {};
constinit std::size_t entries = 0;
constinit slowpath_pad_numbers counts = {};
constinit pid_t process = 0;  // that counted first

class Lock {
  public:
    Lock() { pthread_mutex_lock(&lock); }
    ~Lock() { pthread_mutex_unlock(&lock); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
};

std::size_t home(std::uintptr_t address) {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): addresses share their low
    // bits.
    return static_cast<std::size_t>((std::uint64_t{address} * 0x9e3779b97f4a7c15) >> 48) % table_size;
}

/// Where an address stands, or would.
std::size_t place_of(std::uintptr_t address) {
    std::size_t at = home(address);
    while (table[at].address != 0 && table[at].address != address) at = (at + 1) % table_size;
    return at;
}

/// Linear probing without tombstones (Knuth, section 6.4, algorithm R): close the gap.
void remove_at(std::size_t gap) {
    --entries;
    table[gap].address = 0;
    for (std::size_t at = (gap + 1) % table_size; table[at].address != 0; at = (at + 1) % table_size) {
        const std::size_t distance_home = (at - home(table[at].address)) % table_size;
        if (distance_home < (at - gap) % table_size) continue;
        table[gap] = table[at];
        table[at].address = 0;
        gap = at;
    }
}

std::size_t forget(std::uintptr_t address) {
    const std::size_t at = place_of(address);
    if (address == 0 || table[at].address != address) return 0;
    const std::size_t added_bytes = table[at].added_bytes;
    counts.device_added_now_bytes -= added_bytes;
    remove_at(at);
    return added_bytes;
}

void remember(std::uintptr_t address, std::size_t added_bytes) {
    // The address may be known from memory that was freed by a call that is not watched.
    forget(address);
    if (added_bytes == 0) return;
    if (entries == most_entries) {
        ++counts.device_untracked;
        return;
    }
    table[place_of(address)] = {address, added_bytes};
    ++entries;
    counts.device_added_now_bytes += added_bytes;
    if (counts.device_added_now_bytes > counts.device_added_peak_bytes)
        counts.device_added_peak_bytes = counts.device_added_now_bytes;
}

/// Nothing is printed in a process that met no allocation (shells and launchers inherit the variables), or in
/// a fork of the one that counted.
[[gnu::destructor]] void report() {
    slowpath_pad_numbers all;
    slowpath_pad_statistics(&all);
    if (!settings.report || all.device_allocations + all.host_allocations == 0 || process != getpid()) return;
    char line[512];
    const int length = std::snprintf(
        line, sizeof line,
        "slowpath-pad: process %ld: device: %llu allocations, %llu padded, %llu bytes added, %llu at peak; "
        "host: %llu allocations, %llu padded, %llu bytes added\n",
        static_cast<long>(getpid()), static_cast<unsigned long long>(all.device_allocations),
        static_cast<unsigned long long>(all.device_padded),
        static_cast<unsigned long long>(all.device_added_bytes),
        static_cast<unsigned long long>(all.device_added_peak_bytes),
        static_cast<unsigned long long>(all.host_allocations),
        static_cast<unsigned long long>(all.host_padded),
        static_cast<unsigned long long>(all.host_added_bytes));
    const bool to_stderr = settings.report_path[0] == '\0';
    const int file = to_stderr ? STDERR_FILENO
                               : open(settings.report_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    // One write, so that the lines of several processes don't mix.
    if (file < 0 || write(file, line, static_cast<std::size_t>(length)) != length)
        std::fprintf(stderr, "slowpath-pad: warning: can't write the report to %s\n",
                     to_stderr ? "stderr" : settings.report_path);
    if (!to_stderr && file >= 0) close(file);
}

void note_process() {
    if (process == 0) process = getpid();
}

}  // namespace

void note_device_allocation(std::uintptr_t address, std::size_t added_bytes) {
    const Lock held;
    note_process();
    ++counts.device_allocations;
    counts.device_padded += added_bytes != 0;
    counts.device_added_bytes += added_bytes;
    remember(address, added_bytes);
}

std::size_t note_device_free(std::uintptr_t address) {
    const Lock held;
    return forget(address);
}

void undo_device_free(std::uintptr_t address, std::size_t added_bytes) {
    const Lock held;
    remember(address, added_bytes);
}

void note_host_allocation(std::size_t added_bytes) {
    const Lock held;
    note_process();
    ++counts.host_allocations;
    counts.host_padded += added_bytes != 0;
    counts.host_added_bytes += added_bytes;
}

}  // namespace slowpath::pad

extern "C" [[gnu::visibility("default")]] void slowpath_pad_statistics(struct slowpath_pad_numbers* numbers) {
    const slowpath::pad::Lock held;
    *numbers = slowpath::pad::counts;
}
