// SPDX-License-Identifier: Apache-2.0
/// Memory that two processes of a node share, and how they keep in step through it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace slowpath::yardstick {

/// A cache line of its own, and of the line that a processor may fetch with it.
struct alignas(128) Flag {
    std::atomic<std::uint64_t> value{0};
};

/// Which of the two processes this is: the first one decides and keeps the times.
enum class Party : int { first = 0, second = 1 };

/// Two areas, one that each process fills, after a head with flags.  Made by the first process as an
/// anonymous file, opened by the second one under /proc.
class SharedRegion {
  public:
    /// @throws std::runtime_error: the system refuses.
    explicit SharedRegion(std::size_t area_bytes);
    /// @param pid, descriptor Of the process that made it.  @throws std::runtime_error: it can't be opened.
    SharedRegion(std::int64_t pid, int descriptor, std::size_t area_bytes);
    ~SharedRegion();
    SharedRegion(const SharedRegion&) = delete;
    SharedRegion& operator=(const SharedRegion&) = delete;

    int descriptor() const { return descriptor_; }
    std::size_t area_bytes() const { return area_bytes_; }
    std::byte* area(Party whose) const;
    /// What the process raises for the other one.
    Flag& flag(Party whose) const;

    /// Both call it: the other's number.  @throws std::runtime_error: the other one does not answer.
    std::int64_t exchange(Party me, std::int64_t mine);

  private:
    struct Head;
    void map();
    Head& head() const { return *static_cast<Head*>(mapped_); }

    int descriptor_ = -1;
    std::size_t area_bytes_;
    void* mapped_ = nullptr;
    std::uint64_t exchanged_ = 0;
};

/// Wait until the flag has reached this value.  Ranks may share a processor, so a long wait gives it away.
/// @return false: not within some seconds.
bool await(const Flag& flag, std::uint64_t value);

}  // namespace slowpath::yardstick
