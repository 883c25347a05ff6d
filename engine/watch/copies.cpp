// SPDX-License-Identifier: Apache-2.0
/// process_vm_readv and process_vm_writev, by which an MPI library copies straight from another rank's
/// memory: what the kernel refuses is recorded, and no call changes.
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "watch/file.hpp"
#include "watch/loader.hpp"

namespace slowpath::watch {
namespace {

using Copy = ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

constinit std::atomic<Copy*> next_readv{nullptr}, next_writev{nullptr};
constinit std::atomic<bool> is_noted{false};

[[gnu::constructor]] void look_both_up() {
    next_readv = reinterpret_cast<Copy*>(next_definition("process_vm_readv"));
    next_writev = reinterpret_cast<Copy*>(next_definition("process_vm_writev"));
}

ssize_t copy(Copy* original, pid_t pid, const iovec* here, unsigned long here_count, const iovec* there,
             unsigned long there_count, unsigned long flags) {
    if (original == nullptr) {
        errno = ENOSYS;
        return -1;
    }
    const ssize_t moved = original(pid, here, here_count, there, there_count, flags);
    const int error = moved < 0 ? errno : 0;
    // The first refusal at once: a library may end the program because of it.
    if ((error == EPERM || error == EACCES || error == ENOSYS) && has_file() &&
        !is_noted.exchange(true, std::memory_order_relaxed)) {
        char line[32];
        snprintf(line, sizeof line, "%d", error);
        write_text("copy_refused", line);
        errno = error;
    }
    return moved;
}

}  // namespace
}  // namespace slowpath::watch

using namespace slowpath::watch;

extern "C" [[gnu::visibility("default")]] ssize_t process_vm_readv(pid_t pid, const iovec* here,
                                                                   unsigned long here_count,
                                                                   const iovec* there,
                                                                   unsigned long there_count,
                                                                   unsigned long flags) noexcept {
    return copy(next_readv, pid, here, here_count, there, there_count, flags);
}

extern "C" [[gnu::visibility("default")]] ssize_t process_vm_writev(pid_t pid, const iovec* here,
                                                                    unsigned long here_count,
                                                                    const iovec* there,
                                                                    unsigned long there_count,
                                                                    unsigned long flags) noexcept {
    return copy(next_writev, pid, here, here_count, there, there_count, flags);
}
