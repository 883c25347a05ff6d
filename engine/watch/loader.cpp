// SPDX-License-Identifier: Apache-2.0
#include "watch/loader.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

namespace slowpath::watch {

Dlsym real_dlsym() {
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

void* next_definition(const char* name) {
    void* found = real_dlsym()(RTLD_NEXT, name);
    // No jump here: dlsym goes by its return address, which must be in this library.
    asm volatile("" : "+r"(found));
    return found;
}

bool is_this_library(const char* path) {
    Dl_info about;
    return dladdr(reinterpret_cast<const void*>(&is_this_library), &about) != 0 &&
           about.dli_fname != nullptr && std::strcmp(about.dli_fname, path) == 0;
}

}  // namespace slowpath::watch
