// SPDX-License-Identifier: Apache-2.0
/// Calls that change mappings. Memory hooks of UCX and Open MPI overwrite the C library's functions of these
/// names and make the system call themselves; they are counted where the program calls them.
#include <sys/mman.h>

#include "witness/counters.hpp"
#include "witness/original.hpp"

namespace slowpath::witness {
namespace {

constinit Original real_mmap{"mmap"};
constinit Original real_mmap64{"mmap64"};
constinit Original real_munmap{"munmap"};
constinit Original real_madvise{"madvise"};
constinit Original real_mprotect{"mprotect"};

[[gnu::constructor]] void look_all_up() {
    look_up({&real_mmap, &real_mmap64, &real_munmap, &real_madvise, &real_mprotect});
}

/// @param make Makes the call.
template <class Make>
auto counted(Call kind, std::size_t length_bytes, Make make) {
    const Scope scope;
    const auto result = make();
    if (scope.outermost()) note(kind, (long)result == -1, length_bytes);
    return result;
}

}  // namespace
}  // namespace slowpath::witness

using namespace slowpath::witness;

#pragma GCC visibility push(default)
extern "C" {

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) noexcept {
    return counted(Call::mmap, length,
                   [&] { return call(real_mmap, &mmap, address, length, protection, flags, file, offset); });
}

void* mmap64(void* address, size_t length, int protection, int flags, int file, off64_t offset) noexcept {
    return counted(Call::mmap, length, [&] {
        return call(real_mmap64, &mmap64, address, length, protection, flags, file, offset);
    });
}

int munmap(void* address, size_t length) noexcept {
    return counted(Call::munmap, length, [&] { return call(real_munmap, &munmap, address, length); });
}

int madvise(void* address, size_t length, int advice) noexcept {
    return counted(Call::madvise, length,
                   [&] { return call(real_madvise, &madvise, address, length, advice); });
}

int mprotect(void* address, size_t length, int protection) noexcept {
    return counted(Call::mprotect, length,
                   [&] { return call(real_mprotect, &mprotect, address, length, protection); });
}

}  // extern "C"
#pragma GCC visibility pop
