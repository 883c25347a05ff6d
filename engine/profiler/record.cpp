// SPDX-License-Identifier: Apache-2.0
#include "profiler/record.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "watch/spin.hpp"

namespace slowpath::profiler {
namespace {

using watch::SpinGuard;
using watch::SpinLock;

/// As it lies in the file. The pages that nothing is written to cost nothing.
struct Image {
    union {
        layout::Header header;
        char room[layout::header_bytes];
    };
    layout::Communicator communicators[layout::communicator_capacity];
    layout::Row rows[layout::row_capacity];
    layout::Sample samples[layout::sample_capacity];
};

constexpr uint32_t table_size = 2 * layout::row_capacity;
constexpr int64_t write_every_ns = 1'000'000'000;

struct State {
    SpinLock lock;
    Image* image = nullptr;
    int file = -1;
    bool was_tried = false;  // a record was opened, or could not be
    pid_t process = 0;
    int64_t written_ns = 0;
    uint32_t written_samples = 0;
    uint16_t row_of[table_size] = {};  // row + 1 by hash
};
constinit State state{};

int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool has_record() {
    return state.image != nullptr && state.file >= 0;
}

uint64_t mixed(uint64_t value) {  // splitmix64
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

/// The same on each rank, so that all keep the same calls.
uint64_t sample_hash(uint64_t communicator, uint64_t number, bool is_message) {
    return mixed(mixed(communicator + 0x9e3779b97f4a7c15U) + 2 * number + (is_message ? 1 : 0));
}

uint64_t sample_hash(const layout::Sample& sample) {
    const layout::Row& row = state.image->rows[sample.row];
    return sample_hash(state.image->communicators[row.key.communicator].id, sample.number, sample.peer >= 0);
}

void copy_text(char* to, size_t room, const char* from) {
    if (from != nullptr) memcpy(to, from, strnlen(from, room - 1));  // the rest is zero
}

bool write_all(const void* from, uint64_t bytes, uint64_t at) {
    const char* next = static_cast<const char*>(from);
    while (bytes > 0) {
        const ssize_t wrote = pwrite(state.file, next, bytes, static_cast<off_t>(at));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        next += wrote;
        at += static_cast<uint64_t>(wrote);
        bytes -= static_cast<uint64_t>(wrote);
    }
    return true;
}

template <typename Element>
bool write_section(const layout::Section& section, const Element* elements, uint32_t from) {
    return write_all(elements + from, uint64_t{section.used - from} * sizeof(Element),
                     section.offset + uint64_t{from} * sizeof(Element));
}

/// The header last: what it names is there.
void write_now(bool is_last) {
    layout::Header& header = state.image->header;
    header.end_monotonic_ns = state.written_ns = monotonic_ns();
    header.is_closed = is_last ? 1 : 0;
    const int saved = errno;
    if (!write_section(header.communicators, state.image->communicators, 0) ||
        !write_section(header.rows, state.image->rows, 0) ||
        !write_section(header.samples, state.image->samples, state.written_samples) ||
        !write_all(&header, sizeof header, 0)) {
        close(state.file);  // the disk is full: what was written stays
        state.file = -1;
    }
    state.written_samples = header.samples.used;
    errno = saved;
}

/// HOST-PID.nccl, or HOST-PID-N.nccl: a process that became another program by exec has the same number.
int make_file(const char* folder, const char* host) {
    char path[1024];
    for (int attempt = 0; attempt < 1000; ++attempt) {
        char suffix[16] = {};
        if (attempt > 0) snprintf(suffix, sizeof suffix, "-%d", attempt);
        const int length = snprintf(path, sizeof path, "%s/%s-%d%s.nccl", folder, host, getpid(), suffix);
        if (length >= static_cast<int>(sizeof path)) return -1;
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/// A write past the limit would be a signal.
bool limit_allows(uint64_t bytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

void fill_header(layout::Header& header, uint32_t interface_version, layout::Timer timer, const char* host) {
    memcpy(header.magic, layout::magic, sizeof header.magic);
    header.version = layout::version;
    header.interface_version = interface_version;
    header.timer = timer;
    header.pid = getpid();
    header.start_monotonic_ns = monotonic_ns();
    header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
    header.communicators = {offsetof(Image, communicators), sizeof(layout::Communicator), 0};
    header.rows = {offsetof(Image, rows), sizeof(layout::Row), 0};
    header.samples = {offsetof(Image, samples), sizeof(layout::Sample), 0};
    header.sampled_below = UINT64_MAX;
    copy_text(header.host, sizeof header.host, host);
    const ssize_t length = readlink("/proc/self/exe", header.program, sizeof header.program - 1);
    header.program[length < 0 ? 0 : length] = '\0';
}

uint64_t hash_of(const layout::Key& key) {
    uint64_t words[sizeof key / sizeof(uint64_t)], hash = 0;
    static_assert(sizeof words == sizeof key);
    memcpy(words, &key, sizeof key);
    for (const uint64_t word : words) hash = mixed(hash + word + 0x9e3779b97f4a7c15U);
    return hash;
}

/// @return Its row, or nullptr: there is no room.
layout::Row* row_of(const layout::Key& key, uint32_t& number) {
    layout::Section& rows = state.image->header.rows;
    for (uint64_t at = hash_of(key) % table_size;; at = (at + 1) % table_size) {
        if (state.row_of[at] == 0) {
            if (rows.used == layout::row_capacity) return nullptr;
            number = rows.used++;
            state.row_of[at] = static_cast<uint16_t>(number + 1);
            layout::Row& row = state.image->rows[number];
            row.key = key;
            row.host_least_ns = row.gpu_least_ns = UINT64_MAX;
            return &row;
        }
        number = state.row_of[at] - 1U;
        if (memcmp(&state.image->rows[number].key, &key, sizeof key) == 0) return &state.image->rows[number];
    }
}

void count(uint64_t ns, uint64_t& calls, uint64_t& sum, uint64_t& least, uint64_t& most) {
    ++calls;
    sum += ns;
    if (ns < least) least = ns;
    if (ns > most) most = ns;
}

void add_to_row(layout::Row& row, const Call& call) {
    const int64_t begun_ns = call.call_ns != 0 ? call.call_ns : call.launch_ns;
    const uint64_t host_ns =
        call.launched_ns > begun_ns ? static_cast<uint64_t>(call.launched_ns - begun_ns) : 0;
    const uint64_t gpu_ns = call.has_gpu_time() ? call.gpu_end_ns - call.gpu_start_ns : 0;
    if (row.calls++ == 0) {
        row.first_start_ns = begun_ns;
        row.first_host_ns = host_ns;
        row.first_gpu_ns = gpu_ns;
        return;
    }
    if (call.has_task) count(host_ns, row.host_calls, row.host_ns, row.host_least_ns, row.host_most_ns);
    if (call.has_gpu_time()) count(gpu_ns, row.gpu_calls, row.gpu_ns, row.gpu_least_ns, row.gpu_most_ns);
}

void add_to_communicator(layout::Communicator& communicator, const Call& call) {
    ++communicator.calls;
    if (!call.has_gpu_time()) return;
    // Kernels of one communicator follow each other; calls that share one have the same times.
    const uint64_t from =
        call.gpu_start_ns > communicator.last_gpu_ns ? call.gpu_start_ns : communicator.last_gpu_ns;
    if (call.gpu_end_ns <= from) return;
    communicator.busy_ns += call.gpu_end_ns - from;
    communicator.last_gpu_ns = call.gpu_end_ns;
}

/// Every second call goes, the same ones on each rank.
void thin() {
    layout::Header& header = state.image->header;
    header.sampled_below /= 2;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < header.samples.used; ++i)
        if (sample_hash(state.image->samples[i]) < header.sampled_below)
            state.image->samples[kept++] = state.image->samples[i];
    header.samples.used = kept;
    state.written_samples = 0;
}

void add_sample(const Call& call, uint32_t row) {
    layout::Header& header = state.image->header;
    const layout::Sample sample{call.number,
                                call.call_ns != 0 ? call.call_ns : call.launch_ns,
                                call.launched_ns,
                                call.has_gpu_time() ? call.gpu_start_ns : 0,
                                call.has_gpu_time() ? call.gpu_end_ns : 0,
                                call.seen_ns,
                                row,
                                call.peer,
                                0};
    while (header.samples.used == layout::sample_capacity) thin();
    if (sample_hash(sample) < header.sampled_below) state.image->samples[header.samples.used++] = sample;
}

}  // namespace

int64_t monotonic_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

bool open_record(uint32_t interface_version, layout::Timer timer) {
    const SpinGuard guard(state.lock);
    if (state.was_tried) return has_record();
    state.was_tried = true;
    const char* folder = getenv("SLOWPATH_WATCH");
    if (folder == nullptr || folder[0] == '\0' || !limit_allows(sizeof(Image))) return false;
    char host[65] = {};
    if (gethostname(host, sizeof host - 1) != 0) strcpy(host, "host");
    const int file = make_file(folder, host);
    if (file < 0) return false;
    void* memory = mmap(nullptr, sizeof(Image), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        close(file);
        return false;
    }
    state.image = static_cast<Image*>(memory);
    state.file = file;
    state.process = getpid();
    state.written_samples = 0;
    memset(state.row_of, 0, sizeof state.row_of);
    fill_header(state.image->header, interface_version, timer, host);
    write_now(false);
    return has_record();
}

int32_t add_communicator(uint64_t id, const char* name, int nodes, int ranks, int rank) {
    const SpinGuard guard(state.lock);
    if (!has_record()) return -1;
    layout::Header& header = state.image->header;
    if (header.communicators.used == layout::communicator_capacity) {
        ++header.lost_communicators;
        return -1;
    }
    const uint32_t number = header.communicators.used++;
    layout::Communicator& row = state.image->communicators[number];
    row.id = id;
    row.rank = rank;
    row.ranks = ranks;
    row.nodes = nodes;
    row.opened_ns = monotonic_ns();
    copy_text(row.name, sizeof row.name, name);
    return static_cast<int32_t>(number);
}

void name_communicator(int32_t number, uint64_t id, const char* name, int rank) {
    const SpinGuard guard(state.lock);
    if (!has_record() || number < 0) return;
    layout::Communicator& row = state.image->communicators[number];
    row.id = id;
    row.rank = rank;
    copy_text(row.name, sizeof row.name, name);
}

void close_communicator(int32_t number) {
    const SpinGuard guard(state.lock);
    if (!has_record() || number < 0) return;
    state.image->communicators[number].is_closed = 1;
    write_now(false);
}

void add_call(const Call& call) {
    const SpinGuard guard(state.lock);
    if (!has_record()) return;
    layout::Header& header = state.image->header;
    if (call.channels_started != call.channels_ended) ++header.unfinished;
    uint32_t number = 0;
    layout::Row* row = row_of(call.key, number);
    if (row == nullptr) {
        ++header.lost_rows;
        return;
    }
    add_to_row(*row, call);
    add_to_communicator(state.image->communicators[call.key.communicator], call);
    if (call.has_task) add_sample(call, number);
    if (call.seen_ns - state.written_ns > write_every_ns) write_now(false);
}

void add_events(uint64_t events) {
    const SpinGuard guard(state.lock);
    if (has_record()) state.image->header.events += events;
}

void write_record(bool is_last) {
    const SpinGuard guard(state.lock);
    if (has_record() && getpid() == state.process) write_now(is_last);
}

void hold_record() {
    state.lock.take();
}

void release_record() {
    state.lock.give();
}

void leave_record() {
    if (state.file >= 0) close(state.file);
    state.image = nullptr;
    state.file = -1;
    state.was_tried = false;
    state.lock.give();
}

}  // namespace slowpath::profiler
