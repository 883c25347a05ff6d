// SPDX-License-Identifier: Apache-2.0
#include "pad/lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <initializer_list>

namespace slowpath::pad {
namespace {

constinit std::atomic<void*> originals[function_count][slot_count + 1] = {};

std::size_t number(Function function) {
    return static_cast<std::size_t>(function);
}

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

/// In any library: a caller that left by a jump is not known.
void* find_anywhere(Function function) {
    void* const program = dlopen(nullptr, RTLD_LAZY);
    const link_map* map = nullptr;
    void* found = nullptr;
    if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) map = nullptr;
    for (; map != nullptr && found == nullptr; map = map->l_next) {
        found = find_in(map, wrapped[number(function)].name);
        if (is_wrapper(function, found)) found = nullptr;
    }
    if (program != nullptr) dlclose(program);
    return found;
}

}  // namespace

std::atomic<void*>& original(Function function, std::size_t slot) {
    return originals[number(function)][slot];
}

Function function_named(const char* name) {
    if (name == nullptr || name[0] != 'c' || name[1] != 'u') return Function::none;
    for (std::size_t i = 0; i < function_count; ++i)
        if (std::strcmp(wrapped[i].name, name) == 0) return static_cast<Function>(i);
    return Function::none;
}

bool is_wrapper(Function function, const void* address) {
    for (const void* const wrapper : wrapped[number(function)].wrappers)
        if (wrapper == address) return true;
    return false;
}

void* wrapper_for(Function function, void* found) {
    if (is_wrapper(function, found)) return found;
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
        void* known = nullptr;
        if (original(function, slot).compare_exchange_strong(known, found) || known == found)
            return wrapped[number(function)].wrappers[slot];
    }
    return found;
}

void* visible_original(Function function, const void* caller) {
    const char* const name = wrapped[number(function)].name;
    void* found = next_definition(name);
    if (found == nullptr || is_wrapper(function, found)) found = find_for_caller(name, caller);
    return is_wrapper(function, found) ? nullptr : found;
}

bool patches_code(const void* caller) {
    Dl_info about;
    if (dladdr(caller, &about) == 0 || about.dli_fname == nullptr) return false;
    const char* const slash = std::strrchr(about.dli_fname, '/');
    const char* const file = slash == nullptr ? about.dli_fname : slash + 1;
    return std::strncmp(file, "libucm", 6) == 0;
}

void* exported_original(Function function, const void* caller) {
    std::atomic<void*>& known = original(function, exported_slot);
    void* found = known.load();
    if (found != nullptr) return found;
    found = visible_original(function, caller);
    if (found == nullptr) found = find_anywhere(function);
    known.store(found);
    return found;
}

void* next_definition(const char* name) {
    void* found = real_dlsym()(RTLD_NEXT, name);
    // No jump here: dlsym goes by its return address, which must be in this library.
    asm volatile("" : "+r"(found));
    return found;
}

Dlsym real_dlsym() {
    static constinit std::atomic<void*> known{nullptr};
    void* found = known.load();
    // Its symbol version is that of the C library's first release on the architecture, or that in which libdl
    // became part of libc: x86-64, AArch64 and ppc64le, RISC-V, LoongArch.
    for (const char* const version :
         {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.36"}) {
        if (found != nullptr) break;
        found = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    known.store(found);
    return reinterpret_cast<Dlsym>(found);
}

}  // namespace slowpath::pad
