// SPDX-License-Identifier: Apache-2.0
/// What is counted: kinds of calls, with relaxed atomics of the whole process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace slowpath::witness {

enum class Call : std::size_t {
    process_vm_readv,
    process_vm_writev,
    socket_send,
    socket_receive,
    mmap,
    munmap,
    madvise,
    mprotect,
    ioctl,
    futex_wait,
    sched_yield,
    poll,
    sleep,
    count,
};

inline constexpr auto call_kinds = static_cast<std::size_t>(Call::count);

/// One call that came back.  @param bytes That it moved or mapped; of no meaning if it failed.
void note(Call call, bool failed, std::uint64_t bytes = 0);

/// Nanoseconds of a clock that runs on while a thread sleeps.
std::uint64_t now_ns();
/// One call of a kind that waits: how long the thread was in it is noted as well.
/// @param begin_ns now_ns() right before it.
void note_wait(Call call, bool failed, std::uint64_t begin_ns);
/// Whether calls of this kind wait, so that time in them is no work.
bool is_wait(Call call);

/// Wrapped functions call each other: syscall(SYS_mmap) by a memory hook within mmap, recv within recvfrom.
/// Only the outermost call of a thread counts.
class Scope {
  public:
    Scope();
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    bool outermost() const { return outermost_; }

  private:
    bool outermost_;
};

/// Of a function that moves bytes.  @param make Makes the call; returns bytes, or -1.
template <class Make>
ssize_t counted(Call kind, Make make) {
    const Scope scope;
    const ssize_t moved = make();
    if (scope.outermost()) note(kind, moved < 0, static_cast<std::uint64_t>(moved));
    return moved;
}

}  // namespace slowpath::witness
