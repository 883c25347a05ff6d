// SPDX-License-Identifier: Apache-2.0
#include "witness/counters.hpp"

#include <array>
#include <atomic>

#include "witness/slowpath_witness.h"

namespace slowpath::witness {
namespace {

struct Kind {
    const char* name;
    bool has_bytes;
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
    {"futex_wait", false},
    {"sched_yield", false},
    {"poll", false},
}};

struct Counter {
    std::atomic<std::uint64_t> calls;
    std::atomic<std::uint64_t> failed;
    std::atomic<std::uint64_t> bytes;
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
        numbers[i] = {kinds[i].name, counters[i].calls.load(std::memory_order_relaxed),
                      counters[i].failed.load(std::memory_order_relaxed),
                      counters[i].bytes.load(std::memory_order_relaxed), kinds[i].has_bytes};
    return call_kinds;
}
