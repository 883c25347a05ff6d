// SPDX-License-Identifier: Apache-2.0
#include "watch/loader.hpp"

#include <dlfcn.h>
#include <link.h>

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

bool is_in_this_library(const void* address) {
    Dl_info about;
    return dladdr(address, &about) != 0 && about.dli_fname != nullptr && is_this_library(about.dli_fname);
}

namespace {

/// In one loaded library and what that was linked with.
void* find_in(const link_map* map, const char* name) {
    void* const library = dlopen(*map->l_name == '\0' ? nullptr : map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    void* const found = real_dlsym()(library, name);
    dlclose(library);
    return found;
}

/// For the caller's library: a plugin opened with RTLD_LOCAL sees a CUDA runtime that others don't.
void* find_for_caller(const char* name, const void* caller) {
    Dl_info about{};
    link_map* map = nullptr;
    if (dladdr1(caller, &about, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
        return nullptr;
    return find_in(map, name);
}

}  // namespace

void* visible_original(const char* name, const void* caller) {
    void* found = next_definition(name);
    if (found == nullptr || is_in_this_library(found)) found = find_for_caller(name, caller);
    return is_in_this_library(found) ? nullptr : found;
}

void* find_anywhere(const char* name) {
    void* const program = dlopen(nullptr, RTLD_LAZY);
    const link_map* map = nullptr;
    void* found = nullptr;
    if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) map = nullptr;
    for (; map != nullptr && found == nullptr; map = map->l_next) {
        found = find_in(map, name);
        if (is_in_this_library(found)) found = nullptr;
    }
    if (program != nullptr) dlclose(program);
    return found;
}

bool patches_code(const void* caller) {
    Dl_info about;
    if (dladdr(caller, &about) == 0 || about.dli_fname == nullptr) return false;
    const char* const slash = std::strrchr(about.dli_fname, '/');
    return std::strncmp(slash == nullptr ? about.dli_fname : slash + 1, "libucm", 6) == 0;
}

bool is_this_library(const char* path) {
    Dl_info about;
    return dladdr(reinterpret_cast<const void*>(&is_this_library), &about) != 0 &&
           about.dli_fname != nullptr && std::strcmp(about.dli_fname, path) == 0;
}

}  // namespace slowpath::watch
