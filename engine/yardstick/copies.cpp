// SPDX-License-Identifier: Apache-2.0
#include "yardstick/copies.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "core/clock.hpp"
#include "memory/buffer.hpp"
#include "memory/gpu.hpp"

namespace slowpath::yardstick {
namespace {

constexpr std::size_t cache_line_bytes = 64;
constexpr std::int64_t most_operations = 4096;

/// Times `copy(times)`: once unmeasured, then as often as a sample needs.
void time_copies(Timed& timed, const std::function<void(std::int64_t)>& copy) {
    const MonotonicClock clock;
    const auto lasting_ns = [&](std::int64_t times) {
        const std::int64_t begin_ns = clock.now_ns();
        copy(times);
        return clock.now_ns() - begin_ns;
    };
    copy(1);
    const std::int64_t once_ns = std::max<std::int64_t>(lasting_ns(1), 1);
    timed.operations = std::clamp<std::int64_t>(sample_ns / once_ns, 1, most_operations);
    // The clock itself may be most of a single copy.
    if (timed.operations > 1) {
        const std::int64_t each_ns =
            std::max<std::int64_t>(lasting_ns(timed.operations) / timed.operations, 1);
        timed.operations = std::clamp<std::int64_t>(sample_ns / each_ns, 1, most_operations);
    }
    const int count = once_ns > long_ns ? long_samples : samples;
    for (int i = 0; i < count; ++i) timed.samples_ns.push_back(lasting_ns(timed.operations));
}

/// Two buffers of the CPU, written.
struct HostPair {
    explicit HostPair(std::int64_t bytes)
        : length(static_cast<std::size_t>(bytes)),
          from(new std::byte[length + 1]),
          to(new std::byte[length + 1]) {
        std::memset(from.get(), 1, length + 1);
        std::memset(to.get(), 2, length + 1);
    }
    void copy() const {
        std::memcpy(to.get(), from.get(), length);
        asm volatile("" : : "r"(to.get()), "r"(from.get()) : "memory");
    }
    std::size_t length;
    std::unique_ptr<std::byte[]> from, to;
};

#if defined(__x86_64__)
void flush(const std::byte* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += cache_line_bytes) __builtin_ia32_clflush(at + i);
    __builtin_ia32_mfence();
}
#endif

const char* gpu_name(const GpuEnds& ends) {
    if (!ends.from) return "gpu_from_host";
    if (!ends.to) return "gpu_to_host";
    return ends.from == ends.to ? "gpu_copy" : "gpu_peer_copy";
}

memory::Buffer gpu_buffer(std::optional<int> device, int other, std::int64_t bytes) {
    // Host memory is pinned: from pageable memory the driver would copy twice.
    const auto kind = device ? memory::Kind::device : memory::Kind::pinned_host;
    return memory::Buffer(
        {.kind = kind, .bytes = static_cast<std::size_t>(bytes), .device = device.value_or(other)});
}

}  // namespace

Timed copy_warm(std::int64_t bytes) {
    Timed timed{"memcpy", bytes};
    const HostPair pair(bytes);
    time_copies(timed, [&](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) pair.copy();
    });
    return timed;
}

Timed copy_cold(std::int64_t bytes) {
    Timed timed{"memcpy_cold", bytes};
#if defined(__x86_64__)
    const HostPair pair(bytes);
    const MonotonicClock clock;
    for (int i = 0; i < long_samples + 1; ++i) {
        flush(pair.from.get(), pair.length);
        flush(pair.to.get(), pair.length);
        const std::int64_t begin_ns = clock.now_ns();
        pair.copy();
        timed.samples_ns.push_back(clock.now_ns() - begin_ns);
    }
#else
    timed.reason = "no instruction empties this processor's caches";
#endif
    return timed;
}

Timed copy_on_gpus(std::int64_t bytes, const GpuEnds& ends) {
    Timed timed{gpu_name(ends), bytes};
    memory::GpuDriver* const driver = memory::GpuDriver::instance();
    if (driver == nullptr) {
        timed.reason = memory::GpuDriver::unavailable();
        return timed;
    }
    try {
        const int device = ends.from ? *ends.from : *ends.to;
        const memory::Buffer from = gpu_buffer(ends.from, device, bytes),
                             to = gpu_buffer(ends.to, device, bytes);
        const auto length = static_cast<std::size_t>(bytes);
        driver->use(device, length);
        if (ends.from && ends.to && ends.from != ends.to) driver->reach(*ends.to);
        timed.reason = driver->copy_between(to.data(), from.data(), length, 1);
        if (timed.reason) return timed;
        time_copies(timed, [&](std::int64_t times) {
            static_cast<void>(driver->copy_between(to.data(), from.data(), length, times));
        });
    } catch (const memory::Error& error) {
        timed.samples_ns.clear();
        timed.reason = error.what();
    }
    return timed;
}

}  // namespace slowpath::yardstick
