// SPDX-License-Identifier: Apache-2.0
#include "yardstick/shared_region.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/clock.hpp"

namespace slowpath::yardstick {
namespace {

constexpr const char* name = "slowpath-yardstick";
constexpr std::size_t page_bytes = 4096;
constexpr std::int64_t patience_ns = 10'000'000'000;

[[noreturn]] void refuse(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

void rest_a_moment() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

struct SharedRegion::Head {
    std::array<Flag, 2> flags;
    /// Of each process the last two numbers, so that it can say the next one before the other has read the
    /// last.
    struct Said {
        std::array<std::int64_t, 2> number{};
        Flag times;
    };
    std::array<Said, 2> said;
};

SharedRegion::SharedRegion(std::size_t area_bytes)
    : descriptor_(memfd_create(name, MFD_CLOEXEC)), area_bytes_(whole_pages(area_bytes)) {
    if (descriptor_ < 0) refuse("no shared memory (memfd_create)");
    if (ftruncate(descriptor_, static_cast<off_t>(page_bytes + 2 * area_bytes_)) != 0) {
        const int reason = errno;
        close(descriptor_);
        errno = reason;
        refuse("no shared memory (ftruncate)");
    }
    map();
    new (mapped_) Head;
}

SharedRegion::SharedRegion(std::int64_t pid, int descriptor, std::size_t area_bytes)
    : area_bytes_(whole_pages(area_bytes)) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
    // Of another container it may be a process and a file that have nothing to do with us.
    std::array<char, 64> target{};
    const ssize_t length = readlink(path.c_str(), target.data(), target.size() - 1);
    if (length < 0) refuse("the other rank's shared memory, " + path);
    if (std::string_view(target.data()).find(name) == std::string_view::npos)
        throw std::runtime_error("the other rank's shared memory, " + path + ": is another file");
    descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor_ < 0) refuse("the other rank's shared memory, " + path);
    map();
}

void SharedRegion::map() {
    static_assert(sizeof(Head) <= page_bytes);
    mapped_ = mmap(nullptr, page_bytes + 2 * area_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped_ != MAP_FAILED) return;
    const int reason = errno;
    close(descriptor_);
    errno = reason;
    refuse("no shared memory (mmap)");
}

SharedRegion::~SharedRegion() {
    munmap(mapped_, page_bytes + 2 * area_bytes_);
    close(descriptor_);
}

std::byte* SharedRegion::area(Party whose) const {
    return static_cast<std::byte*>(mapped_) + page_bytes + static_cast<std::size_t>(whose) * area_bytes_;
}

Flag& SharedRegion::flag(Party whose) const {
    return head().flags[static_cast<std::size_t>(whose)];
}

std::int64_t SharedRegion::exchange(Party me, std::int64_t mine) {
    const auto own = static_cast<std::size_t>(me);
    const std::size_t slot = exchanged_++ % 2;
    head().said[own].number[slot] = mine;
    head().said[own].times.value.store(exchanged_, std::memory_order_release);
    const Head::Said& other = head().said[1 - own];
    if (!await(other.times, exchanged_))
        throw std::runtime_error("the other rank did not answer within 10 s");
    return other.number[slot];
}

bool await(const Flag& flag, std::uint64_t value) {
    constexpr int eager_spins = 1000, spins = 3000;
    const MonotonicClock clock;
    std::int64_t begin_ns = 0;
    for (int i = 0; flag.value.load(std::memory_order_acquire) < value; ++i) {
        if (i < eager_spins) continue;
        rest_a_moment();
        if (i < spins) continue;
        sched_yield();
        if (begin_ns == 0) begin_ns = clock.now_ns();
        if (clock.now_ns() - begin_ns > patience_ns) return false;
    }
    return true;
}

}  // namespace slowpath::yardstick
