// SPDX-License-Identifier: Apache-2.0
#include "watch/sampler.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/file.hpp"
#include "watch/lock.hpp"
#include "watch/sites.hpp"
#include "watch/ticks.hpp"

namespace slowpath::watch {
namespace {

/// The thread shares the thread-local memory of the one that it looks at: nothing that it calls may write
/// there, so that it makes its system calls itself, without errno.
#if defined(__x86_64__)
constexpr bool can_sample = true;
long ask(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
    long result;
    register long fourth asm("r10") = d;
    register long fifth asm("r8") = e;
    register long sixth asm("r9") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
constexpr bool can_sample = true;
long ask(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
    register long which asm("x8") = number;
    register long first asm("x0") = a;
    register long second asm("x1") = b;
    register long third asm("x2") = c;
    register long fourth asm("x3") = d;
    register long fifth asm("x4") = e;
    register long sixth asm("x5") = 0;
    asm volatile("svc #0"
                 : "+r"(first)
                 : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "memory");
    return first;
}
#else
constexpr bool can_sample = false;
long ask(long, long = 0, long = 0, long = 0, long = 0, long = 0) {
    return -1;
}
#endif

/// Rows until a thread of the program takes them into the record. When the room is full every second one
/// goes.
template <typename Row, std::uint32_t room>
class Kept {
  public:
    /// How often every second one went.
    std::uint32_t level() const { return level_; }

    void add(const Row& row) {
        if (is_held_.exchange(true, std::memory_order_acquire)) return;
        if (used_ == room) {
            for (std::uint32_t kept = 0; kept < room / 2; ++kept) rows_[kept] = rows_[2 * kept];
            used_ = room / 2;
            ++level_;
        }
        rows_[used_++] = row;
        is_held_.store(false, std::memory_order_release);
    }

    void publish(Section<Row>& section) {
        if (section.capacity() < room || is_held_.exchange(true, std::memory_order_acquire)) return;
        if (level_ != copied_level_ || section.used() != copied_) {
            section.shrink(copied_ = 0);
            copied_level_ = level_;
        }
        if (used_ > copied_) {
            std::memcpy(&section[copied_], &rows_[copied_], (used_ - copied_) * sizeof(Row));
            section.shrink(copied_ = used_);
        }
        is_held_.store(false, std::memory_order_release);
    }

    void forget() {
        is_held_ = false;
        used_ = level_ = 0;
    }
    bool is_held() const { return is_held_; }

  private:
    Row rows_[room]{};
    std::uint32_t used_ = 0, level_ = 0, copied_ = 0, copied_level_ = 0;
    /// While rows are added, dropped or copied; who finds it held goes on without.
    std::atomic<bool> is_held_{false};
};

constinit Kept<layout::Sample, most_samples> samples{};
constinit Kept<layout::Address, most_addresses> addresses{};

constinit std::atomic<bool> is_wanted{false};
constinit pid_t looked_at = 0;
constinit long page_bytes = 0;
constinit int refused = 0;                              ///< error of what gives addresses
constexpr std::uint32_t address_period_ns = 9'973'000;  // no beat of a program
constinit pid_t looks = 0;                              ///< the kernel makes it 0 when the thread is gone
alignas(64) char stack[32 * 1024];

enum { of_state, of_system_call, of_schedule, of_bytes, file_count };
constexpr const char* names[file_count] = {"stat", "syscall", "schedstat", "io"};

/// Numbers of a text, one after the other.
class Numbers {
  public:
    explicit Numbers(const char* text) : at_(text) {}
    std::uint64_t next() {
        while (*at_ != '\0' && (*at_ < '0' || *at_ > '9')) ++at_;
        std::uint64_t value = 0;
        for (; *at_ >= '0' && *at_ <= '9'; ++at_) value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
        return value;
    }
    void skip_words(int count) {
        for (; count > 0; --count) {
            while (*at_ == ' ') ++at_;
            while (*at_ != ' ' && *at_ != '\0') ++at_;
        }
    }

  private:
    const char* at_;
};

struct Files {
    long numbers[file_count];
    char text[1024];

    bool read(int which) {
        const long got = numbers[which] < 0 ? -1
                                            : ask(SYS_pread64, numbers[which], reinterpret_cast<long>(text),
                                                  sizeof text - 1, 0);
        text[got > 0 ? got : 0] = '\0';
        return got > 0;
    }
};

void write_number(char*& at, unsigned number) {
    if (number >= 10) write_number(at, number / 10);
    *at++ = static_cast<char>('0' + number % 10);
}

void open_files(Files& files) {
    for (int which = 0; which < file_count; ++which) {
        char path[64] = "/proc/self/task/";
        char* at = path + std::strlen(path);
        write_number(at, static_cast<unsigned>(looked_at));
        *at++ = '/';
        std::strcpy(at, names[which]);
        files.numbers[which] = ask(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
    }
}

/// Behind the name of the thread, which may hold anything: state, and what the kernel counts.
void read_state(const char* text, layout::Sample& sample) {
    const char* const name_end = std::strrchr(text, ')');
    if (name_end == nullptr || name_end[1] != ' ') return;
    sample.state = static_cast<std::uint16_t>(name_end[2]);
    constexpr int before_minor = 7, after_system = 23;
    Numbers numbers(name_end + 1);
    numbers.skip_words(before_minor);
    sample.minor_faults = static_cast<std::uint32_t>(numbers.next());
    numbers.skip_words(1);
    sample.major_faults = static_cast<std::uint32_t>(numbers.next());
    numbers.skip_words(2);
    constexpr std::uint64_t us_a_tick = 10'000;  // USER_HZ is 100 on both
    sample.system_us = numbers.next() * us_a_tick;
    numbers.skip_words(after_system);
    sample.processor = static_cast<std::uint16_t>(numbers.next());
}

void look(Files& files, layout::Sample& sample) {
    sample.ticks = now_ticks();
    if (files.read(of_state)) read_state(files.text, sample);
    sample.system_call = sample.state == 'R' ? std::int32_t{layout::runs} : std::int32_t{layout::refused};
    if (sample.state != 'R' && files.read(of_system_call)) {
        sample.system_call = files.text[0] == 'r'   ? std::int32_t{layout::runs}
                             : files.text[0] == '-' ? std::int32_t{layout::in_no_call}
                                                    : static_cast<std::int32_t>(Numbers(files.text).next());
    }
    if (files.read(of_schedule)) {
        Numbers numbers(files.text);
        sample.ran_ns = numbers.next();
        sample.waited_ns = numbers.next();
    }
    if (files.read(of_bytes)) {
        Numbers numbers(files.text);  // rchar, wchar, syscr, syscw
        sample.read_bytes = numbers.next();
        sample.written_bytes = numbers.next();
        sample.reads = static_cast<std::uint32_t>(numbers.next());
        sample.writes = static_cast<std::uint32_t>(numbers.next());
    }
}

/// Whether the instruction before an address calls: a stack holds pointers to functions as well, such as the
/// comparison of qsort, once for each depth. True where it cannot be read.
bool is_behind_call(std::uintptr_t address) {
    unsigned char code[7]{};
    const iovec here{code, sizeof code}, there{reinterpret_cast<void*>(address - sizeof code), sizeof code};
    if (ask(SYS_process_vm_readv, ask(SYS_getpid), reinterpret_cast<long>(&here), 1,
            reinterpret_cast<long>(&there), 1) != sizeof code)
        return true;
#if defined(__x86_64__)
    bool is_call = code[2] == 0xe8;       // of an address (Intel SDM vol. 2, CALL)
    for (const int at : {0, 1, 3, 4, 5})  // through a register or memory, by the length of its operand
        is_call |= code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2;
    return is_call;
#else
    std::uint32_t last;  // BL or BLR
    std::memcpy(&last, code + 3, sizeof last);
    return last >> 26 == 0x25 || (last & 0xfffffc1f) == 0xd63f0000;
#endif
}

/// Where the thread computes: every 10 ms of its processor time the kernel notes address and stack in a
/// ring, which this thread empties. The ring's file is in this thread's own table, where the program does not
/// see it.
class Computing {
  public:
    void begin() {
        perf_event_attr wanted{};
        wanted.size = sizeof wanted;
        wanted.type = PERF_TYPE_SOFTWARE;
        wanted.config = PERF_COUNT_SW_TASK_CLOCK;
        wanted.sample_period = address_period_ns;
        wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_STACK_USER;
        wanted.exclude_kernel = wanted.exclude_hv = wanted.use_clockid = 1;
        wanted.clockid = CLOCK_MONOTONIC;
        wanted.sample_stack_user = stack_bytes;
#if defined(__aarch64__)
        constexpr std::uint64_t link_register = 30;
        wanted.sample_type |= PERF_SAMPLE_REGS_USER;
        wanted.sample_regs_user = std::uint64_t{1} << link_register;
#endif
        // A filter that knows no such call may end the program because of it.
        constexpr long filtered = 2;
        file_ = ask(SYS_prctl, PR_GET_SECCOMP) == filtered
                    ? -EPERM
                    : ask(SYS_perf_event_open, reinterpret_cast<long>(&wanted), looked_at, -1, -1,
                          PERF_FLAG_FD_CLOEXEC);
        const long made =
            file_ < 0 ? file_
                      : ask(SYS_mmap, 0, page_bytes + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_);
        if (made < 0 && made > -most_errno) {
            __atomic_store_n(&refused, static_cast<int>(-made), __ATOMIC_RELAXED);
            if (file_ >= 0) ask(SYS_close, file_);
        } else {
            page_ = reinterpret_cast<perf_event_mmap_page*>(made);
        }
    }

    void take() {
        if (page_ == nullptr) return;
        const std::uint64_t end = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
        while (at_ < end) {  // perf_event_header: type, misc, size
            const std::uint64_t head = word(0), next = at_ + (head >> 48);
            if (static_cast<std::uint32_t>(head) == PERF_RECORD_SAMPLE) add();
            at_ = next > at_ ? next : end;
        }
        __atomic_store_n(&page_->data_tail, at_, __ATOMIC_RELEASE);
    }

  private:
    static constexpr long ring_bytes = 128 * 1024, stack_bytes = 6144, most_errno = 4096;

    /// Of the entry at at_.
    std::uint64_t word(std::uint64_t number) const {
        const auto* const ring = reinterpret_cast<const char*>(page_) + page_bytes;
        return *reinterpret_cast<const std::uint64_t*>(ring + (at_ + number * 8) % ring_bytes);
    }

    void add() {
        layout::Address row{word(2), word(1), {}};
        if (is_mpi(row.address)) return;
        const bool is_below = is_own(row.address);
        std::uint64_t next = 3;
        std::uint32_t count = 0;
        const auto note = [&](std::uint64_t caller) {
            constexpr std::uint32_t most = sizeof row.callers / sizeof row.callers[0];
            const auto* const end = row.callers + count;
            if (count < most && (is_below ? is_binding(caller) : is_own(caller)) &&
                std::find<const std::uint64_t*>(row.callers, end, caller) == end && is_behind_call(caller))
                row.callers[count++] = caller;
        };
#if defined(__aarch64__)
        if (word(next++) != 0) note(word(next++));
#endif
        const std::uint64_t words = word(next++) / 8, used = words == 0 ? 0 : word(next + words) / 8;
        for (std::uint64_t i = 0; i < std::min(used, words); ++i) note(word(next + i));
        addresses.add(row);
        if (level_ == addresses.level()) return;
        level_ = addresses.level();
        const std::uint64_t period_ns = std::uint64_t{address_period_ns} << level_;
        ask(SYS_ioctl, file_, PERF_EVENT_IOC_PERIOD, reinterpret_cast<long>(&period_ns));
    }

    perf_event_mmap_page* page_ = nullptr;
    long file_ = -1;
    std::uint64_t at_ = 0;
    std::uint32_t level_ = 0;
};

/// Until the next look: so that all looks take at most a thousandth of the time and 2 ms, which a short run
/// needs to be seen at all. Not evenly, for what the program does may have the same beat.
struct Pace {
    std::uint64_t begun_ticks = now_ticks();
    std::uint64_t count = 0, random = begun_ticks | 1;

    std::uint64_t next_ns() {
        constexpr std::uint64_t often_ns = 10'000'000, second_ns = 1'000'000'000, most_level = 12;
        constexpr std::uint64_t switch_ns = 2'000, free_ns = 2'000'000, least_share = 1000;
        timespec used_here{};  // of a processor: what others take meanwhile is no cost
        ask(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<long>(&used_here));
        const std::uint64_t cost_ns = static_cast<std::uint64_t>(used_here.tv_sec) * second_ns +
                                      static_cast<std::uint64_t>(used_here.tv_nsec) + ++count * switch_ns;
        const std::uint64_t passed_ns = duration_ns(now_ticks() - begun_ticks);
        const std::uint64_t due_ns = cost_ns > free_ns ? (cost_ns - free_ns) * least_share : 0;
        std::uint64_t ns = (passed_ns < second_ns ? often_ns : 2 * often_ns)
                           << std::min<std::uint64_t>(samples.level(), most_level);
        if (due_ns > passed_ns + ns) ns = due_ns - passed_ns;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        return ns * 3 / 4 + random % (ns / 2);
    }
};

/// The program's files would stay open as long as this thread has them, too: a pipe would never end.
bool close_files() {
    constexpr const char* path = "/proc/thread-self/fd";
    const long folder =
        ask(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    alignas(DirectoryEntry) char buffer[2048];
    long got = -1;
    while (folder >= 0 &&
           (got = ask(SYS_getdents64, folder, reinterpret_cast<long>(buffer), sizeof buffer)) > 0)
        for (long at = 0; at < got;) {
            const auto* const entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
            const auto number = static_cast<long>(Numbers(entry->name).next());
            if (entry->name[0] != '.' && number != folder) ask(SYS_close, number);
            at += entry->bytes;
        }
    return folder >= 0 && ask(SYS_close, folder) == 0 && got == 0;
}

int run(void*) {
    if (!close_files()) return 0;
    Files files;
    open_files(files);
    Computing computing;
    computing.begin();
    for (Pace pace; is_wanted.load(std::memory_order_relaxed);) {
        layout::Sample sample{};
        look(files, sample);
        if (sample.state == 0) break;  // the thread is gone
        samples.add(sample);
        computing.take();
        const std::uint64_t rest_ns = pace.next_ns();
        const timespec rest{static_cast<time_t>(rest_ns / 1'000'000'000),
                            static_cast<long>(rest_ns % 1'000'000'000)};
        ask(SYS_nanosleep, reinterpret_cast<long>(&rest), 0);
    }
    return 0;
}

void forget_in_child() {
    is_wanted = false;
    looks = 0;
    samples.forget();
    addresses.forget();
}

}  // namespace

pid_t sampling_thread() {
    return __atomic_load_n(&looks, __ATOMIC_ACQUIRE);
}

void begin_samples() {
    if (!can_sample || sections().samples.capacity() < most_samples) return;
    static constinit bool has_fork_handler = false;
    if (!has_fork_handler) has_fork_handler = pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
    is_wanted = true;
    if (!has_fork_handler || sampling_thread() != 0) return;
    utsname machine{};
    if (uname(&machine) == 0) write_text("machine", machine.machine);
    looked_at = static_cast<pid_t>(syscall(SYS_gettid));
    page_bytes = sysconf(_SC_PAGESIZE);
    sigset_t every, before;
    sigfillset(&every);
    if (pthread_sigmask(SIG_SETMASK, &every, &before) != 0) return;
    clone(run, stack + sizeof stack,
          CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
              CLONE_CHILD_CLEARTID,
          nullptr, &looks, nullptr, &looks);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void end_samples() {
    is_wanted = false;
    for (int attempt = 0; attempt < 100 && (samples.is_held() || addresses.is_held()); ++attempt)
        sched_yield();
    publish_samples();
}

void publish_samples() {
    if (sections().samples.capacity() < most_samples) return;
    samples.publish(sections().samples);
    addresses.publish(sections().addresses);
    header().address_period_ns = address_period_ns << addresses.level();
    header().address_errno = __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

}  // namespace slowpath::watch
