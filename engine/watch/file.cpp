// SPDX-License-Identifier: Apache-2.0
/// Lines of the section text.
#include "watch/file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "watch/call.hpp"
#include "watch/clock.hpp"
#include "watch/guard.hpp"
#include "watch/lock.hpp"

namespace slowpath::watch {
namespace {

constinit Sections all_sections{};
constinit layout::Header* mapped = nullptr;
constinit std::uint64_t mapped_bytes = 0;
constinit Rooms rooms{};
constinit bool has_fork_handler = false;

/// One line for the user; the program runs on.
void complain(const char* path, int error) {
    char line[1200];
    const int length =
        snprintf(line, sizeof line,
                 "slowpath: this process is not recorded: cannot write %s: %s; the program runs on\n", path,
                 strerrordesc_np(error));
    if (length > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

/// A write past the limit would be a signal.
bool limit_allows(std::uint64_t bytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes;
}

/// Zeros, where the file system cannot promise room.
int write_zeros(int file, std::uint64_t bytes) {
    static constexpr char zeros[65536] = {};
    for (std::uint64_t at = 0; at < bytes;) {
        const std::uint64_t rest = bytes - at;
        const ssize_t wrote =
            pwrite(file, zeros, rest < sizeof zeros ? rest : sizeof zeros, static_cast<off_t>(at));
        if (wrote <= 0) return wrote == 0 ? ENOSPC : errno;
        at += static_cast<std::uint64_t>(wrote);
    }
    return 0;
}

/// @return 0, or why there is none. A page without room would end the program by SIGBUS when it is written.
int make_room(int file, std::uint64_t bytes) {
    if (!limit_allows(bytes)) return EFBIG;
    // Not posix_fallocate: it would write to every page where the file system cannot promise.
    if (fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0) return 0;
    const int error = errno;
    return error == EOPNOTSUPP || error == ENOSYS ? write_zeros(file, bytes) : error;
}

/// HOST-PID.watch, or HOST-PID-N.watch: a process that became another program by exec has the same number.
int make_file(const char* folder, char (&path)[1024]) {
    char host[65] = {};
    if (gethostname(host, sizeof host - 1) != 0) strcpy(host, "host");
    for (int attempt = 0; attempt < 1000; ++attempt) {
        char suffix[16] = {};
        if (attempt > 0) snprintf(suffix, sizeof suffix, "-%d", attempt);
        const int length = snprintf(path, sizeof path, "%s/%s-%d%s.watch", folder, host, getpid(), suffix);
        if (length >= static_cast<int>(sizeof path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

void fill_header(layout::Header& head, std::uint64_t file_bytes, layout::State state) {
    memcpy(head.magic, "SPWATCH1", sizeof head.magic);
    head.version = layout::version;
    head.header_bytes = layout::header_bytes;
    head.file_bytes = file_bytes;
    head.state = state;
    head.pid = getpid();
    head.world_rank = head.world_size = head.thread_level = -1;
    head.ticks_kind = static_cast<std::uint32_t>(ticks_kind);
    const Anchor now = read_anchor();
    head.start_ticks = head.end_ticks = now.ticks;
    head.start_monotonic_ns = head.end_monotonic_ns = now.monotonic_ns;
    head.start_realtime_ns = head.end_realtime_ns = now.realtime_ns;
    head.process_start_realtime_ns = load_anchor().realtime_ns;
    head.window_ns = window_ns;
    gethostname(head.host, sizeof head.host - 1);
    const ssize_t length = readlink("/proc/self/exe", head.program, sizeof head.program - 1);
    head.program[length < 0 ? 0 : length] = '\0';
}

/// Nothing but the header: it says that there was no room.
void keep_header_only(int file, const char* path, int error) {
    alignas(layout::Header) static constinit char page[layout::header_bytes]{};
    auto& head = *reinterpret_cast<layout::Header*>(page);
    fill_header(head, layout::header_bytes, layout::no_room);
    if (ftruncate(file, 0) == 0 && limit_allows(sizeof page) &&
        pwrite(file, page, sizeof page, 0) == sizeof page)
        return;
    unlink(path);
    complain(path, error);
}

template <typename Row>
Section<Row> add_section(layout::Is kind, const Room& room, std::uint32_t lane = 0) {
    auto* table = reinterpret_cast<layout::SectionRow*>(mapped + 1);
    layout::SectionRow& row = table[mapped->section_count];
    row.kind = static_cast<std::uint32_t>(kind);
    row.lane = lane;
    row.offset = room.offset;
    row.capacity = room.capacity;
    row.element_bytes = sizeof(Row);
    std::atomic_ref(mapped->section_count).store(mapped->section_count + 1, std::memory_order_release);
    return Section<Row>(reinterpret_cast<Row*>(reinterpret_cast<char*>(mapped) + room.offset), &row);
}

/// A child has memory of its own where its parent's record is, whoever still holds an address into it.
void leave_to_parent() {
    if (mapped == nullptr) return;
    mmap(mapped, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    all_sections = {};
    mapped = nullptr;
}

void map(int file, const char* path) {
    void* memory = mmap(nullptr, rooms.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return keep_header_only(file, path, errno);
    // Or the first page of 2 MiB brings them all from a device that is read ahead: 2 ms of zeros.
    madvise(memory, rooms.file_bytes, MADV_RANDOM);
    mapped = static_cast<layout::Header*>(memory);
    mapped_bytes = rooms.file_bytes;
    fill_header(*mapped, rooms.file_bytes, layout::running);
    all_sections.lanes = add_section<layout::Lane>(layout::Is::lanes, rooms.lanes);
    all_sections.calls = add_section<layout::CallRow>(layout::Is::calls, rooms.calls);
    all_sections.sites = add_section<layout::Site>(layout::Is::sites, rooms.sites);
    all_sections.communicators =
        add_section<layout::Communicator>(layout::Is::communicators, rooms.communicators);
    all_sections.members = add_section<layout::Member>(layout::Is::members, rooms.members);
    all_sections.datatypes = add_section<layout::Datatype>(layout::Is::datatypes, rooms.datatypes);
    all_sections.allocations = add_section<layout::Allocation>(layout::Is::allocations, rooms.allocations);
    all_sections.text = add_section<layout::Text>(layout::Is::text, rooms.text);
    all_sections.current = add_section<layout::Current>(layout::Is::current, rooms.current);
    all_sections.samples = add_section<layout::Sample>(layout::Is::samples, rooms.samples);
    all_sections.addresses = add_section<layout::Address>(layout::Is::addresses, rooms.addresses);
    if (!has_fork_handler) has_fork_handler = pthread_atfork(nullptr, nullptr, leave_to_parent) == 0;
}

}  // namespace

Sections& sections() {
    return all_sections;
}

bool has_file() {
    return mapped != nullptr;
}

void open_file(bool is_single) {
    const char* folder = getenv("SLOWPATH_WATCH");
    if (mapped != nullptr || folder == nullptr || folder[0] == '\0') return;
    char path[1024];
    const int file = make_file(folder, path);
    if (file < 0) return complain(path, errno);
    rooms = share_rooms(static_cast<std::uint32_t>(call_count), is_single);
    if (const int error = make_room(file, rooms.file_bytes); error != 0)
        keep_header_only(file, path, error);
    else
        map(file, path);
    close(file);
}

void guard_file() {
    if (mapped != nullptr) guard_record(mapped, mapped_bytes);
}

namespace {
char begun_path[1024] = {};
}  // namespace

void note_start_begun() {
    const char* const folder = getenv("SLOWPATH_WATCH");
    if (mapped != nullptr || begun_path[0] != '\0' || folder == nullptr || folder[0] == '\0') return;
    char host[65] = {};
    if (gethostname(host, sizeof host - 1) != 0) strcpy(host, "host");
    const int length = snprintf(begun_path, sizeof begun_path, "%s/%s-%d.begun", folder, host, getpid());
    const int file = length < static_cast<int>(sizeof begun_path)
                         ? open(begun_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)
                         : -1;
    if (file < 0)
        begun_path[0] = '\0';
    else
        close(file);
}

void note_start_over(int error) {
    if (begun_path[0] == '\0') return;
    if (error == 0) {
        unlink(begun_path);
    } else if (const int file = open(begun_path, O_WRONLY | O_TRUNC | O_CLOEXEC); file >= 0) {
        dprintf(file, "%d\n", error);
        close(file);
    }
    begun_path[0] = '\0';
}

LaneRoom take_lane_room(std::uint32_t lane) {
    if (mapped == nullptr) return {};
    return {add_section<layout::Profile>(layout::Is::profile, rooms.profiles[lane], lane),
            add_section<layout::Event>(layout::Is::events, rooms.events[lane], lane)};
}

std::uint32_t most_lanes() {
    return rooms.lane_count;
}

layout::Header& header() {
    return *mapped;
}

void set_state(layout::State state) {
    if (mapped != nullptr) std::atomic_ref(mapped->state).store(state, std::memory_order_release);
}

void renew_anchor() {
    if (mapped == nullptr) return;
    const Anchor now = read_anchor();
    mapped->end_ticks = now.ticks;
    mapped->end_monotonic_ns = now.monotonic_ns;
    mapped->end_realtime_ns = now.realtime_ns;
}

namespace {
constinit SpinLock text_lock{};
}

void write_text(const char* key, const char* value) {
    Section<layout::Text>& text = sections().text;
    const std::size_t key_bytes = strlen(key), value_bytes = strcspn(value, "\n");
    const std::size_t bytes = key_bytes + value_bytes + 2;
    const SpinGuard guard(text_lock);
    if (bytes > text.capacity() - text.used()) return text.lose(static_cast<std::uint32_t>(bytes));
    char* line = &text[text.used()].byte;
    memcpy(line, key, key_bytes);
    line[key_bytes] = '\t';
    memcpy(line + key_bytes + 1, value, value_bytes);
    line[bytes - 1] = '\n';
    text.publish(static_cast<std::uint32_t>(bytes));
}

}  // namespace slowpath::watch
