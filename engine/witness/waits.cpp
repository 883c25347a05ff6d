// SPDX-License-Identifier: Apache-2.0
/// Giving up the processor, waiting for files, sleeping, and requests to drivers. No call of these has a
/// length.
#undef _FORTIFY_SOURCE  // its inline functions have the names of the wrappers
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>

#include "witness/counters.hpp"
#include "witness/original.hpp"

namespace slowpath::witness {
namespace {

constinit Original real_yield{"sched_yield"}, real_ioctl{"ioctl"};
constinit Original real_poll{"poll"}, real_ppoll{"ppoll"}, real_select{"select"}, real_pselect{"pselect"},
    real_epoll_wait{"epoll_wait"}, real_epoll_pwait{"epoll_pwait"};
constinit Original real_nanosleep{"nanosleep"}, real_clock_nanosleep{"clock_nanosleep"},
    real_usleep{"usleep"};

[[gnu::constructor]] void look_all_up() {
    look_up({&real_yield, &real_ioctl, &real_poll, &real_ppoll, &real_select, &real_pselect, &real_epoll_wait,
             &real_epoll_pwait, &real_nanosleep, &real_clock_nanosleep, &real_usleep});
}

template <class Make>
int asked(Call kind, Make make) {
    const Scope scope;
    const int result = make();
    if (scope.outermost()) note(kind, result < 0);
    return result;
}

template <class Make>
int waited(Call kind, Make make) {
    const Scope scope;
    const std::uint64_t begin_ns = now_ns();
    const int result = make();
    if (scope.outermost()) note_wait(kind, result < 0, begin_ns);  // a clock that is there leaves errno alone
    return result;
}

}  // namespace
}  // namespace slowpath::witness

using namespace slowpath::witness;

extern "C" int __poll_chk(pollfd* files, nfds_t number, int patience_ms, size_t room);

#pragma GCC visibility push(default)
extern "C" {

int sched_yield() noexcept {
    return waited(Call::sched_yield, [&] { return call(real_yield, &sched_yield); });
}

int ioctl(int file, unsigned long request, ...) noexcept {
    // Every request of Linux has one argument of a machine word or none.
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    using Ioctl = int (*)(int, unsigned long, void*);
    return asked(Call::ioctl, [&] { return call(real_ioctl, Ioctl{}, file, request, argument); });
}

int poll(pollfd* files, nfds_t number, int patience_ms) {
    return waited(Call::poll, [&] { return call(real_poll, &poll, files, number, patience_ms); });
}

int __poll_chk(pollfd* files, nfds_t number, int patience_ms, size_t room) {
    if (room / sizeof *files < number) __builtin_trap();
    return poll(files, number, patience_ms);
}

int ppoll(pollfd* files, nfds_t number, const timespec* patience, const sigset_t* mask) {
    return waited(Call::poll, [&] { return call(real_ppoll, &ppoll, files, number, patience, mask); });
}

int select(int number, fd_set* read, fd_set* write, fd_set* other, timeval* patience) {
    return waited(Call::poll,
                  [&] { return call(real_select, &select, number, read, write, other, patience); });
}

int pselect(int number, fd_set* read, fd_set* write, fd_set* other, const timespec* patience,
            const sigset_t* mask) {
    return waited(Call::poll,
                  [&] { return call(real_pselect, &pselect, number, read, write, other, patience, mask); });
}

int epoll_wait(int file, epoll_event* events, int most, int patience_ms) {
    return waited(Call::poll,
                  [&] { return call(real_epoll_wait, &epoll_wait, file, events, most, patience_ms); });
}

int epoll_pwait(int file, epoll_event* events, int most, int patience_ms, const sigset_t* mask) {
    return waited(Call::poll, [&] {
        return call(real_epoll_pwait, &epoll_pwait, file, events, most, patience_ms, mask);
    });
}

int nanosleep(const timespec* length, timespec* left) {
    return waited(Call::sleep, [&] { return call(real_nanosleep, &nanosleep, length, left); });
}

/// Returns the error's number, and not -1.
int clock_nanosleep(clockid_t clock, int flags, const timespec* length, timespec* left) {
    const Scope scope;
    const std::uint64_t begin_ns = now_ns();
    const int result = call(real_clock_nanosleep, &clock_nanosleep, clock, flags, length, left);
    if (scope.outermost()) note_wait(Call::sleep, result != 0, begin_ns);
    return result;
}

int usleep(useconds_t length_us) {
    return waited(Call::sleep, [&] { return call(real_usleep, &usleep, length_us); });
}

}  // extern "C"
#pragma GCC visibility pop
