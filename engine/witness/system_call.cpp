// SPDX-License-Identifier: Apache-2.0
/// syscall(2): how programs make calls for which the C library has no function, or had none when they were
/// written, and how memory hooks make the call that they have taken over.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdint>

#include "witness/counters.hpp"
#include "witness/original.hpp"
#include "witness/sockets.hpp"

namespace slowpath::witness {
namespace {

constinit Original real_syscall{"syscall"};

[[gnu::constructor]] void look_all_up() {
    look_up({&real_syscall});
}

struct Kind {
    Call call;
    enum class Bytes { none, returned, second_argument } bytes = Bytes::none;
    bool of_a_file = false;  ///< counts only where the first argument is a socket
};

bool waits(long operation) {
    switch (operation & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET:
        case FUTEX_WAIT_REQUEUE_PI:
        case FUTEX_LOCK_PI:
            return true;
        default:
            return false;
    }
}

/// @param second The second argument.  @return Whether the call is of a kind that counts.
bool find_kind(long number, long second, Kind& kind) {
    using enum Kind::Bytes;
    switch (number) {
        case SYS_process_vm_readv:
            return kind = {Call::process_vm_readv, returned}, true;
        case SYS_process_vm_writev:
            return kind = {Call::process_vm_writev, returned}, true;
        case SYS_sendto:
        case SYS_sendmsg:
            return kind = {Call::socket_send, returned}, true;
        case SYS_recvfrom:
        case SYS_recvmsg:
            return kind = {Call::socket_receive, returned}, true;
        case SYS_write:
        case SYS_writev:
            return kind = {Call::socket_send, returned, true}, true;
        case SYS_read:
        case SYS_readv:
            return kind = {Call::socket_receive, returned, true}, true;
        case SYS_mmap:
            return kind = {Call::mmap, second_argument}, true;
        case SYS_munmap:
            return kind = {Call::munmap, second_argument}, true;
        case SYS_madvise:
            return kind = {Call::madvise, second_argument}, true;
        case SYS_mprotect:
            return kind = {Call::mprotect, second_argument}, true;
        case SYS_ioctl:
            return kind = {Call::ioctl}, true;
        case SYS_futex:
            return kind = {Call::futex_wait}, waits(second);
        case SYS_sched_yield:
            return kind = {Call::sched_yield}, true;
#ifdef SYS_poll
        case SYS_poll:
        case SYS_select:
        case SYS_epoll_wait:
#endif
        case SYS_ppoll:
        case SYS_pselect6:
        case SYS_epoll_pwait:
            return kind = {Call::poll}, true;
#ifdef SYS_nanosleep
        case SYS_nanosleep:
#endif
        case SYS_clock_nanosleep:
            return kind = {Call::sleep}, true;
        default:
            return false;
    }
}

std::uint64_t bytes_of(const Kind& kind, long second, long result) {
    switch (kind.bytes) {
        case Kind::Bytes::none:
            return 0;
        case Kind::Bytes::returned:
            return static_cast<std::uint64_t>(result);
        case Kind::Bytes::second_argument:
            return static_cast<std::uint64_t>(second);
    }
    return 0;
}

}  // namespace
}  // namespace slowpath::witness

using namespace slowpath::witness;

/// `syscall`, which the headers declare as variadic: here it takes all that a system call can have, in the
/// same registers and place on the stack.
extern "C" [[gnu::visibility("default")]] long wrapped_syscall(long number, long a, long b, long c, long d,
                                                               long e, long f) asm("syscall");

long wrapped_syscall(long number, long a, long b, long c, long d, long e, long f) {
    using Syscall = long(long, long, long, long, long, long, long);
    Kind kind{Call::count};
    if (!find_kind(number, b, kind)) {
        // By a jump, so that a call which comes back on another stack (clone) finds its caller there.
        if (void* const found = real_syscall.address())
            return reinterpret_cast<Syscall*>(found)(number, a, b, c, d, e, f);
        errno = ENOSYS;
        return -1;
    }
    const Scope scope;
    const std::uint64_t begin_ns = is_wait(kind.call) ? now_ns() : 0;
    const long result = call(real_syscall, static_cast<Syscall*>(nullptr), number, a, b, c, d, e, f);
    if (!scope.outermost() || (kind.of_a_file && !is_socket(static_cast<int>(a)))) return result;
    if (is_wait(kind.call))
        note_wait(kind.call, result == -1, begin_ns);
    else
        note(kind.call, result == -1, bytes_of(kind, b, result));
    return result;
}
