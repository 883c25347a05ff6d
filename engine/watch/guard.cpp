// SPDX-License-Identifier: Apache-2.0
#include "watch/guard.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch/lanes.hpp"

namespace slowpath::watch {
namespace {

constinit char* guarded = nullptr;
constinit std::uint64_t guarded_bytes = 0;
constinit bool is_installed = false;
struct sigaction before_us {};

bool is_of_record(const siginfo_t& info) {
    const auto* const address = static_cast<const char*>(info.si_addr);
    return info.si_code > 0 && guarded != nullptr && address >= guarded && address < guarded + guarded_bytes;
}

/// The whole mapping at once: no thread sees a part of it missing. Not by the C library's mmap, which is
/// watched.
bool replace_memory() {
    const long there = syscall(SYS_mmap, guarded, guarded_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return there == reinterpret_cast<long>(guarded);
}

/// A fault that is not the record's comes again, and a signal that was sent is sent again, once whoever had
/// SIGBUS before has it back: with the flags, the mask and the stack that they asked for.
void pass_on(int number, siginfo_t* info) {
    sigaction(SIGBUS, &before_us, nullptr);
    if (info->si_code <= 0) syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
}

void take(int number, siginfo_t* info, void*) {
    const int saved = errno;
    if (!is_of_record(*info) || !replace_memory())
        pass_on(number, info);
    else
        recording = 0;
    errno = saved;
}

bool is_ours(const struct sigaction& there) {
    return (there.sa_flags & SA_SIGINFO) != 0 && there.sa_sigaction == take;
}

}  // namespace

void guard_record(void* begin, std::uint64_t bytes) {
    guarded = static_cast<char*>(begin);
    guarded_bytes = bytes;
    struct sigaction there {};
    if (sigaction(SIGBUS, nullptr, &there) != 0 || there.sa_handler == SIG_IGN || is_ours(there)) return;
    before_us = there;
    struct sigaction ours {};
    ours.sa_sigaction = take;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    is_installed = sigaction(SIGBUS, &ours, nullptr) == 0;
}

void unguard_record() {
    struct sigaction there {};
    if (is_installed && sigaction(SIGBUS, nullptr, &there) == 0 && is_ours(there))
        sigaction(SIGBUS, &before_us, nullptr);
    is_installed = false;
}

}  // namespace slowpath::watch
