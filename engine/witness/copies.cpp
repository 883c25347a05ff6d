// SPDX-License-Identifier: Apache-2.0
/// Single copies between processes: Linux cross-memory attach, process_vm_readv(2).
#include <sys/uio.h>

#include "witness/counters.hpp"
#include "witness/original.hpp"

namespace slowpath::witness {
namespace {

constinit Original real_readv{"process_vm_readv"};
constinit Original real_writev{"process_vm_writev"};

[[gnu::constructor]] void look_all_up() {
    look_up({&real_readv, &real_writev});
}

}  // namespace
}  // namespace slowpath::witness

using namespace slowpath::witness;

#pragma GCC visibility push(default)
extern "C" {

ssize_t process_vm_readv(pid_t process, const iovec* local, unsigned long locals, const iovec* remote,
                         unsigned long remotes, unsigned long flags) noexcept {
    return counted(Call::process_vm_readv, [&] {
        return call(real_readv, &process_vm_readv, process, local, locals, remote, remotes, flags);
    });
}

ssize_t process_vm_writev(pid_t process, const iovec* local, unsigned long locals, const iovec* remote,
                          unsigned long remotes, unsigned long flags) noexcept {
    return counted(Call::process_vm_writev, [&] {
        return call(real_writev, &process_vm_writev, process, local, locals, remote, remotes, flags);
    });
}

}  // extern "C"
#pragma GCC visibility pop
