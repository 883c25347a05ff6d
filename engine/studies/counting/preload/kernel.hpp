// SPDX-License-Identifier: Apache-2.0
/// System calls without the C library: no errno, no cancellation point, no tool that wraps the function.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace slowpath::counting::preload {

/// @return What the kernel returns: a negative number is an error's.
inline long kernel(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                   std::uint64_t d = 0, std::uint64_t e = 0, std::uint64_t f = 0) {
    register std::uint64_t fourth asm("r10") = d;
    register std::uint64_t fifth asm("r8") = e;
    register std::uint64_t sixth asm("r9") = f;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}

inline std::uint64_t word(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

/// @return A file descriptor or a negative error.
inline int open_file(const char* path, int flags, int mode = 0) {
    constexpr std::uint64_t here = static_cast<std::uint64_t>(AT_FDCWD);
    return static_cast<int>(kernel(SYS_openat, here, word(path),
                                   static_cast<std::uint64_t>(flags | O_CLOEXEC),
                                   static_cast<std::uint64_t>(mode)));
}

inline void close_file(int file) {
    kernel(SYS_close, static_cast<std::uint64_t>(file));
}

inline long read_file(int file, void* to, std::size_t bytes) {
    return kernel(SYS_read, static_cast<std::uint64_t>(file), word(to), bytes);
}

/// @return Zeroed pages; nullptr: there are none.
inline void* take_pages(std::size_t bytes) {
    const long at = kernel(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           static_cast<std::uint64_t>(-1), 0);
    return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

inline int process_id() {
    return static_cast<int>(kernel(SYS_getpid));
}

inline int thread_id() {
    return static_cast<int>(kernel(SYS_gettid));
}

}  // namespace slowpath::counting::preload
