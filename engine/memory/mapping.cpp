// SPDX-License-Identifier: Apache-2.0
#include "memory/mapping.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "memory/allocation.hpp"
#include "memory/pages.hpp"

namespace slowpath::memory {
namespace {

constexpr int read_write = PROT_READ | PROT_WRITE;
constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;

std::byte* map(void* wanted, std::size_t bytes, int protection, int flags) {
    void* const got = mmap(wanted, bytes, protection, flags, -1, 0);
    if (got == MAP_FAILED) throw system_error("mmap", errno, bytes);
    return static_cast<std::byte*>(got);
}

/// A page without access at `wanted` if that address is free; its length, or 0.
std::size_t guard_page(std::byte* wanted) {
    const std::size_t bytes = system_page_bytes();
    void* const got = mmap(wanted, bytes, PROT_NONE, private_memory | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return 0;
    if (got == wanted) return bytes;
    munmap(got, bytes);  // a kernel before 4.17 takes the flag for a hint
    return 0;
}

std::size_t whole_pages(std::size_t bytes) {
    const std::size_t page_bytes = system_page_bytes();
    return (bytes == 0 ? 1 : (bytes + page_bytes - 1) / page_bytes) * page_bytes;
}

}  // namespace

Mapping::Mapping(Pages pages, std::size_t bytes, std::size_t alignment_bytes) : bytes_(whole_pages(bytes)) {
    switch (pages) {
        // What glibc's malloc does from M_MMAP_THRESHOLD on (128 KiB at first): a private anonymous mapping,
        // with no madvise unless the tunable glibc.malloc.hugetlb asks. Two things differ: malloc's pointer
        // stands 16 bytes behind the page boundary, and after a free malloc raises the threshold (to 32 MiB
        // at most) and serves the next such length from its heap, pages used before; here each allocation is
        // fresh.
        case Pages::system_default:
            map_private(alignment_bytes);
            break;
        case Pages::small:
            map_private(alignment_bytes);
            advise(MADV_NOHUGEPAGE, "madvise(MADV_NOHUGEPAGE)");
            break;
        case Pages::huge:
            map_aligned(huge_page_bytes());
            advise(MADV_HUGEPAGE, "madvise(MADV_HUGEPAGE)");
            break;
        case Pages::shared:
            map_plain(MAP_SHARED | MAP_ANONYMOUS);
            break;
    }
}

void Mapping::map_private(std::size_t alignment_bytes) {
    if (alignment_bytes == 0)
        map_plain(private_memory);
    else
        map_aligned(alignment_bytes);
}

void Mapping::map_plain(int flags) {
    base_ = map(nullptr, bytes_, read_write, flags);
    guard();
}

/// Reserve more than is needed, map over the aligned part, and give back the rest but for the guards.
void Mapping::map_aligned(std::size_t alignment_bytes) {
    const std::size_t page_bytes = system_page_bytes();
    const std::size_t reserved_bytes = bytes_ + alignment_bytes + 2 * page_bytes;
    std::byte* const reserved = map(nullptr, reserved_bytes, PROT_NONE, private_memory | MAP_NORESERVE);
    const auto first = reinterpret_cast<std::uintptr_t>(reserved) + page_bytes;
    const std::size_t skipped_bytes = (alignment_bytes - first % alignment_bytes) % alignment_bytes;
    std::byte* const aligned = reserved + page_bytes + skipped_bytes;
    try {
        base_ = map(aligned, bytes_, read_write, private_memory | MAP_FIXED);
    } catch (...) {
        munmap(reserved, reserved_bytes);
        throw;
    }
    guard_before_bytes_ = guard_after_bytes_ = page_bytes;
    std::byte* const tail = aligned + bytes_ + page_bytes;
    if (skipped_bytes > 0) munmap(reserved, skipped_bytes);
    munmap(tail, static_cast<std::size_t>(reserved + reserved_bytes - tail));
}

/// A kernel without transparent huge pages answers EINVAL: the pages are small then, and Observed says so.
void Mapping::advise(int advice, const char* call) {
    if (madvise(base_, bytes_, advice) == 0 || errno == EINVAL) return;
    const Error error = system_error(call, errno, bytes_);
    release();
    throw error;
}

void Mapping::guard() {
    // A mapping above that was there first leaves no room for a guard page. Areas of different flags never
    // merge, and to be left out of core dumps is the one flag that changes nothing for the memory's users.
    advise(MADV_DONTDUMP, "madvise(MADV_DONTDUMP)");
    guard_before_bytes_ = guard_page(base_ - system_page_bytes());
    guard_after_bytes_ = guard_page(base_ + bytes_);
}

void Mapping::release() {
    std::byte* const first = base_ - guard_before_bytes_;
    const std::size_t length = guard_before_bytes_ + bytes_ + guard_after_bytes_;
    if (munmap(first, length) != 0) throw system_error("munmap", errno, length);
}

}  // namespace slowpath::memory
