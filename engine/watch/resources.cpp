// SPDX-License-Identifier: Apache-2.0
#include "watch/resources.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "watch/file.hpp"
#include "watch/sampler.hpp"
#include "watch/ticks.hpp"

namespace slowpath::watch {
namespace {

/// The calls around which this happens leave errno as they want it.
class KeptErrno {
  public:
    KeptErrno() : kept_(errno) {}
    ~KeptErrno() { errno = kept_; }
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

  private:
    int kept_;
};

/// A small file's beginning as text.  @return false: it can't be read, or is empty.
template <std::size_t room>
bool read_text(const char* path, char (&text)[room]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t got = read(file, text, room - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/// Words KEY=VALUE of one line. What does not fit is left out, whole.
class Words {
  public:
    [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
        va_list values;
        va_start(values, format);
        const int length = vsnprintf(text_ + used_, sizeof text_ - used_, format, values);
        va_end(values);
        if (length > 0 && used_ + static_cast<std::size_t>(length) < sizeof text_)
            used_ += static_cast<std::size_t>(length);
        text_[used_] = '\0';
    }
    const char* text() const { return text_; }

  private:
    char text_[4000] = {};
    std::size_t used_ = 0;
};

constexpr std::size_t most_processors = 8192;
struct Processors {
    unsigned long bits[most_processors / (8 * sizeof(unsigned long))];

    bool has(std::size_t number) const {
        constexpr std::size_t word = 8 * sizeof(unsigned long);
        return number < most_processors && (bits[number / word] >> number % word & 1) != 0;
    }
};

/// As 0-3,8: what the kernel allows any thread of the process.
void add_processors(Words& words, const Processors& every) {
    const char* before = " processors=";
    for (std::size_t number = 0; number < most_processors; ++number) {
        if (!every.has(number)) continue;
        const std::size_t first = number;
        while (every.has(number + 1)) ++number;
        if (first == number)
            words.add("%s%zu", before, first);
        else
            words.add("%s%zu-%zu", before, first, number);
        before = ",";
    }
}

/// Of /proc/self/task/N/schedstat.
struct Scheduled {
    std::uint64_t ran_ns = 0, waited_ns = 0;
};

bool read_scheduled(const char* path, Scheduled& found) {
    char text[128];
    if (!read_text(path, text)) return false;
    char* rest = nullptr;
    found.ran_ns = std::strtoull(text, &rest, 10);
    found.waited_ns = std::strtoull(rest, nullptr, 10);
    return true;
}

/// Of all threads; busy: those that ran, or could have, for a tenth of the time since the record began.
struct Threads {
    std::uint32_t count = 0, busy = 0;
    bool is_scheduled = false;
    std::uint64_t waited_ns = 0;
    Processors processors{};
};

constinit std::uint64_t begun_ns = 0;

void add_thread(Threads& threads, int number) {
    ++threads.count;
    Processors own{};
    const long bytes = syscall(SYS_sched_getaffinity, number, sizeof own.bits, own.bits);
    if (bytes > 0)
        for (std::size_t word = 0; word < sizeof own.bits / sizeof own.bits[0]; ++word)
            threads.processors.bits[word] |= own.bits[word];
    constexpr std::uint32_t most_read = 512;  // of a program with more threads only the first ones are timed
    if (threads.count > most_read) return;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", number);
    Scheduled one;
    if (!read_scheduled(path, one)) return;
    threads.is_scheduled = true;
    threads.waited_ns += one.waited_ns;
    constexpr std::uint64_t tenth = 10;
    if (one.ran_ns + one.waited_ns >= (monotonic_ns() - begun_ns) / tenth) ++threads.busy;
}

void read_threads(Threads& threads) {
    const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    alignas(DirectoryEntry) char buffer[4096];
    for (long got; (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < got;) {
            const auto* const entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
            const int number = std::atoi(entry->name);  // 0: not a thread
            if (number != 0 && number != sampling_thread()) add_thread(threads, number);
            at += entry->bytes;
        }
    close(folder);
}

std::uint64_t resident_bytes() {
    char text[128];
    if (!read_text("/proc/self/statm", text)) return 0;
    char* rest = nullptr;
    std::strtoull(text, &rest, 10);
    return std::strtoull(rest, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Of all threads of the process, also of those that are over.
unsigned long long processor_ns(const rusage& used) {
    const auto ns = [](const timeval& time) {
        return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000 +
               static_cast<unsigned long long>(time.tv_usec) * 1'000;
    };
    return ns(used.ru_utime) + ns(used.ru_stime);
}

constexpr std::uint64_t no_limit = std::uint64_t{1} << 60;

/// The number in a file of a control group; no_limit: "max", or there is no such file.
std::uint64_t limit_in(const char* hierarchy, const char* group, const char* file, std::uint64_t* second) {
    char path[1200], text[128];
    snprintf(path, sizeof path, "%s%s/%s", hierarchy, group, file);
    if (!read_text(path, text)) return no_limit;
    char* rest = nullptr;
    const std::uint64_t number = std::strtoull(text, &rest, 10);
    if (rest == text || text[0] == '-') return no_limit;
    if (second != nullptr) *second = std::strtoull(rest, nullptr, 10);
    return number;
}

/// For how long the processors of a control group were stopped so far, added up, because its quota was used
/// up; no_limit: it is not counted. Version 2 has it in us, version 1 in ns.
std::uint64_t throttled_ns(const char* hierarchy, const char* group) {
    char path[1200], text[2048];
    snprintf(path, sizeof path, "%s%s/cpu.stat", hierarchy, group);
    if (!read_text(path, text)) return no_limit;
    constexpr std::uint64_t ns_a_us = 1000;
    if (const char* const found = std::strstr(text, "throttled_usec "); found != nullptr)
        return std::strtoull(found + sizeof "throttled_usec " - 1, nullptr, 10) * ns_a_us;
    const char* const found = std::strstr(text, "throttled_time ");
    return found == nullptr ? no_limit : std::strtoull(found + sizeof "throttled_time " - 1, nullptr, 10);
}

/// The group's own path of a line `N:CONTROLLERS:PATH` of /proc/self/cgroup; version 2 has none of these.
bool group_of(const char* text, const char* controller, char (&group)[1024]) {
    for (const char* line = text; line != nullptr && *line != '\0';) {
        const char* const controllers = std::strchr(line, ':');
        const char* const path = controllers == nullptr ? nullptr : std::strchr(controllers + 1, ':');
        if (path == nullptr) return false;
        const auto length = static_cast<std::size_t>(path - controllers - 1);
        if (length == std::strlen(controller) && std::strncmp(controllers + 1, controller, length) == 0) {
            const std::size_t bytes = std::strcspn(path + 1, "\n");
            if (bytes >= sizeof group) return false;
            std::memcpy(group, path + 1, bytes);
            group[bytes] = '\0';
            return true;
        }
        line = std::strchr(line, '\n');
        if (line != nullptr) ++line;
    }
    return false;
}

/// Of the groups above as well: the least of them holds. In a container the path may be another one's.
template <typename Look>
void for_each_group(char (&group)[1024], const Look& look) {
    for (;;) {
        if (std::strcmp(group, "/") == 0) group[0] = '\0';
        look();
        char* const slash = std::strrchr(group, '/');
        if (slash == nullptr) return;
        *slash = '\0';
    }
}

void add_limits(Words& words) {
    char text[4096], group[1024];
    if (!read_text("/proc/self/cgroup", text)) return;
    std::uint64_t still_ns = no_limit;
    double cores = 0;
    const auto take_cores = [&](std::uint64_t quota, std::uint64_t period, const char* hierarchy) {
        if (quota >= no_limit || period == 0) return;
        const double found = static_cast<double>(quota) / static_cast<double>(period);
        if (cores != 0 && found >= cores) return;
        cores = found;
        still_ns = throttled_ns(hierarchy, group);
    };
    if (group_of(text, "", group))
        for_each_group(group, [&] {
            std::uint64_t period = 0;
            const std::uint64_t quota = limit_in("/sys/fs/cgroup", group, "cpu.max", &period);
            take_cores(quota, period, "/sys/fs/cgroup");
        });
    if (group_of(text, "cpu", group) || group_of(text, "cpu,cpuacct", group))
        for_each_group(group, [&] {
            take_cores(limit_in("/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us", nullptr),
                       limit_in("/sys/fs/cgroup/cpu", group, "cpu.cfs_period_us", nullptr),
                       "/sys/fs/cgroup/cpu");
        });
    if (cores > 0) words.add(" processor_quota=%.3f", cores);
    if (still_ns < no_limit) words.add(" throttled_ns=%llu", static_cast<unsigned long long>(still_ns));
}

void add_place(Words& words) {
    char link[64] = {};
    if (readlink("/proc/self/ns/user", link, sizeof link - 1) > 0) {
        const char* const number = std::strchr(link, '[');
        if (number != nullptr) words.add(" user_namespace=%lu", std::strtoul(number + 1, nullptr, 10));
    }
    char status[4096];
    const char* const filter =
        read_text("/proc/self/status", status) ? std::strstr(status, "\nSeccomp:") : nullptr;
    if (filter != nullptr)
        words.add(" seccomp=%ld", std::strtol(filter + sizeof "\nSeccomp:" - 1, nullptr, 10));
    struct statvfs shared {};
    if (statvfs("/dev/shm", &shared) == 0)
        words.add(" shm_bytes=%llu shm_free_bytes=%llu",
                  static_cast<unsigned long long>(shared.f_blocks) * shared.f_frsize,
                  static_cast<unsigned long long>(shared.f_bavail) * shared.f_frsize);
}

/// Touches new memory as a program does that allocates a buffer in each iteration.
/// @return what it takes to map, touch and unmap each page, ns: the fastest of some turns; 0: not known, or
/// no page faults, as with locked memory.
double fault_ns() {
    constexpr std::size_t bytes = std::size_t{256} << 10;
    constexpr int turns = 4;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    double least = 0;
    for (int turn = 0; turn < turns; ++turn) {
        rusage before{}, after{};
        getrusage(RUSAGE_THREAD, &before);
        const std::uint64_t start = monotonic_ns();
        const long made =
            syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == -1) return 0;
        auto* const memory = reinterpret_cast<volatile char*>(made);
        for (std::size_t at = 0; at < bytes; at += page) memory[at] = 1;
        syscall(SYS_munmap, made, bytes);
        const auto took = static_cast<double>(monotonic_ns() - start);
        getrusage(RUSAGE_THREAD, &after);
        const long faults = after.ru_minflt - before.ru_minflt;
        if (faults < static_cast<long>(bytes / page / 2)) return 0;
        const double each = took / static_cast<double>(faults);
        if (least == 0 || each < least) least = each;
    }
    return least;
}

}  // namespace

void note_resources(const char* moment) {
    const KeptErrno kept;
    if (begun_ns == 0) begun_ns = monotonic_ns();
    const bool is_end = std::strcmp(moment, "end") == 0;
    const double at_begin_ns = is_end ? 0 : fault_ns();  // its own faults are none of the program's
    Words words;
    words.add("%s ns=%llu", moment, static_cast<unsigned long long>(monotonic_ns()));
    Threads threads;
    read_threads(threads);
    if (threads.count > 0) {
        words.add(" threads=%u", threads.count);
        add_processors(words, threads.processors);
    }
    if (threads.is_scheduled)
        words.add(" busy_threads=%u threads_waited_ns=%llu", threads.busy,
                  static_cast<unsigned long long>(threads.waited_ns));
    Scheduled own;
    if (read_scheduled("/proc/thread-self/schedstat", own))
        words.add(" ran_ns=%llu waited_ns=%llu", static_cast<unsigned long long>(own.ran_ns),
                  static_cast<unsigned long long>(own.waited_ns));
    rusage used{};
    if (getrusage(RUSAGE_SELF, &used) == 0)
        words.add(" used_ns=%llu involuntary_switches=%ld minor_faults=%ld most_resident_bytes=%lld",
                  processor_ns(used), used.ru_nivcsw, used.ru_minflt,
                  static_cast<long long>(used.ru_maxrss) * 1024);
    if (const std::uint64_t resident = resident_bytes(); resident > 0)
        words.add(" resident_bytes=%llu", static_cast<unsigned long long>(resident));
    words.add(" online=%ld", sysconf(_SC_NPROCESSORS_ONLN));
    add_place(words);
    add_limits(words);
    if (const double each_ns = is_end ? fault_ns() : at_begin_ns; each_ns > 0)
        words.add(" fault_ns=%.0f", each_ns);
    write_text("at", words.text());
}

void note_launch() {
    // Of launchers in mpi/launchers.py, and how many ranks they start.
    static constexpr const char* names[] = {
        "PMI_RANK",     "PMI_SIZE",     "PMIX_RANK",      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "SLURM_PROCID", "SLURM_NTASKS", "FLUX_TASK_RANK", "FLUX_JOB_SIZE",        "PALS_RANKID"};
    const KeptErrno kept;
    Words words;
    for (const char* const name : names)
        if (const char* const value = std::getenv(name); value != nullptr && std::strlen(value) < 20)
            words.add(" %s=%s", name, value);
    char link[64], path[1024] = {};
    snprintf(link, sizeof link, "/proc/%d/exe", getppid());
    if (readlink(link, path, sizeof path - 1) > 0) write_text("started_by", path);
    if (words.text()[0] != '\0') write_text("launch", words.text() + 1);
}

void begin_resources() {
    begun_ns = 0;
    note_launch();
    note_resources("begin");
}

}  // namespace slowpath::watch
