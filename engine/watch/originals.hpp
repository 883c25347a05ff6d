// SPDX-License-Identifier: Apache-2.0
/// The functions of the C library that this library stands in for.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace slowpath::watch {

/// dlsym of the C library: this library has one of its own.
inline auto real_dlsym() {
    using Dlsym = void* (*)(void*, const char*);
    static constinit std::atomic<void*> known{nullptr};
    void* found = known.load(std::memory_order_relaxed);
    // Its symbol version is that of the C library's first release on the architecture, or that in which libdl
    // became part of libc: x86-64, AArch64 and ppc64le, RISC-V, LoongArch.
    for (const char* const version :
         {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.36"}) {
        if (found != nullptr) break;
        found = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    known.store(found, std::memory_order_relaxed);
    return reinterpret_cast<Dlsym>(found);
}

inline void* next_definition(const char* name) {
    void* next = real_dlsym()(RTLD_NEXT, name);
    // No jump here: dlsym goes by its return address, which must be in this library.
    asm volatile("" : "+r"(next));
    return next;
}

}  // namespace slowpath::watch
