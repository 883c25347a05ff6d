// SPDX-License-Identifier: Apache-2.0
// mmap and munmap of the process: which allocations there are.
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plant/allocations.hpp"
#include "plant/plant.hpp"

namespace {

using namespace slowpath::plant;
using Map = void* (*)(void*, size_t, int, int, int, off_t);
using Unmap = int (*)(void*, size_t);

/// Another preloaded library may stand behind this one. The kernel itself serves calls from before it is
/// there.
Map next_map() {
    static const auto found = reinterpret_cast<Map>(dlsym(RTLD_NEXT, "mmap"));
    return found;
}

Unmap next_unmap() {
    static const auto found = reinterpret_cast<Unmap>(dlsym(RTLD_NEXT, "munmap"));
    return found;
}

void* map(void* wanted, size_t bytes, int protection, int flags, int file, off_t offset) {
    const Map next = next_map();
    void* const got =
        next != nullptr
            ? next(wanted, bytes, protection, flags, file, offset)
            : reinterpret_cast<void*>(syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset));
    if (plants().empty() || got == MAP_FAILED) return got;
    if ((flags & MAP_ANONYMOUS) == 0 || (protection & PROT_WRITE) == 0) return got;
    note_mapping(got, bytes);
    if (plants().small_pages && (flags & MAP_PRIVATE) != 0) {
        const int before = errno;
        madvise(got, bytes, MADV_NOHUGEPAGE);
        errno = before;
    }
    return got;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* mmap(void* wanted, size_t bytes, int protection, int flags,
                                                  int file, off_t offset) noexcept {
    return map(wanted, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) void* mmap64(void* wanted, size_t bytes, int protection, int flags,
                                                    int file, off64_t offset) noexcept {
    return map(wanted, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) int munmap(void* begin, size_t bytes) noexcept {
    if (!plants().empty()) forget_mappings(begin, bytes);
    const Unmap next = next_unmap();
    return next != nullptr ? next(begin, bytes) : static_cast<int>(syscall(SYS_munmap, begin, bytes));
}

}  // extern "C"
