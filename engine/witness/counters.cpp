// SPDX-License-Identifier: Apache-2.0
#include "witness/counters.hpp"

#include <time.h>

#include <array>
#include <atomic>

#include "witness/slowpath_witness.h"

namespace slowpath::witness {
namespace {

struct Kind {
    const char* name;
    bool has_bytes;
    bool waits = false;
};

/// By Call.
constexpr std::array<Kind, call_kinds> kinds{{
    {"process_vm_readv", true},
    {"process_vm_writev", true},
    {"socket_send", true},
    {"socket_receive", true},
    {"mmap", true},
    {"munmap", true},
    {"madvise", true},
    {"mprotect", true},
    {"ioctl", false},
    {"futex_wait", false, true},
    {"sched_yield", false, true},
    {"poll", false, true},
    {"sleep", false, true},
}};

struct Counter {
    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> failed;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> time_ns;
};

constinit std::array<Counter, call_kinds> counters{};

// The static model needs no call and no memory at first use, which a signal handler may be.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool inside = false;

}  // namespace

void note(Call call, bool failed, std::uint64_t bytes) {
    Counter& counter = counters[static_cast<std::size_t>(call)];
    counter.calls.fetch_add(1, std::memory_order_relaxed);
    if (failed)
        counter.failed.fetch_add(1, std::memory_order_relaxed);
    else
        counter.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void note_wait(Call call, bool failed, std::uint64_t begin_ns) {
    Counter& counter = counters[static_cast<std::size_t>(call)];
    counter.time_ns.fetch_add(now_ns() - begin_ns, std::memory_order_relaxed);
    note(call, failed);
}

bool is_wait(Call call) {
    return kinds[static_cast<std::size_t>(call)].waits;
}

Scope::Scope() : outermost_(!inside) {
    inside = true;
}

Scope::~Scope() {
    if (outermost_) inside = false;
}

}  // namespace slowpath::witness

extern "C" [[gnu::visibility("default")]] size_t slowpath_witness_read(
    struct slowpath_witness_number* numbers, size_t room) {
    using namespace slowpath::witness;
    for (std::size_t i = 0; i < call_kinds && i < room; ++i)
        numbers[i] = {kinds[i].name,
                      counters[i].calls.load(std::memory_order_relaxed),
                      counters[i].failed.load(std::memory_order_relaxed),
                      counters[i].bytes.load(std::memory_order_relaxed),
                      kinds[i].has_bytes,
                      counters[i].time_ns.load(std::memory_order_relaxed),
                      kinds[i].waits};
    return call_kinds;
}
