// SPDX-License-Identifier: Apache-2.0
#include "watch/gpu_functions.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "watch/found.hpp"
#include "watch/loader.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t most_functions = 64;
constinit std::atomic<void*> originals[most_functions][gpu_slots + 1] = {};

bool is_wrapper(std::size_t function, const void* address) {
    for (std::size_t slot = 0; slot <= exported_slot; ++slot)
        if (reinterpret_cast<const void*>(gpu_wrapper(function, slot)) == address) return true;
    return false;
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

/// What the code at `caller` would find under this name without this library; nullptr: nothing.
void* visible_original(std::size_t function, const void* caller) {
    const char* const name = gpu_functions[function].name;
    void* found = next_definition(name);
    if (found == nullptr || is_wrapper(function, found)) found = find_for_caller(name, caller);
    return is_wrapper(function, found) ? nullptr : found;
}

/// In any library: a caller that left by a jump is not known.
void* find_anywhere(std::size_t function) {
    void* const program = dlopen(nullptr, RTLD_LAZY);
    const link_map* map = nullptr;
    void* found = nullptr;
    if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) map = nullptr;
    for (; map != nullptr && found == nullptr; map = map->l_next) {
        found = find_in(map, gpu_functions[function].name);
        if (is_wrapper(function, found)) found = nullptr;
    }
    if (program != nullptr) dlclose(program);
    return found;
}

/// True for code of UCX's memory hooks (libucm): it rewrites the first instructions of what it finds, so it
/// must find the driver's own function. Given a wrapper it goes without its caches, and each message took
/// 150 us instead of 13 (engine/studies/pad; H200, UCX 1.22).
bool patches_code(const void* caller) {
    Dl_info about;
    if (dladdr(caller, &about) == 0 || about.dli_fname == nullptr) return false;
    const char* const slash = std::strrchr(about.dli_fname, '/');
    return std::strncmp(slash == nullptr ? about.dli_fname : slash + 1, "libucm", 6) == 0;
}

void* find_to_patch(std::size_t function, void* handle, const void* caller) {
    const bool any = handle == RTLD_NEXT || handle == RTLD_DEFAULT;
    void* const found = any ? nullptr : real_dlsym()(handle, gpu_functions[function].name);
    return found != nullptr && !is_wrapper(function, found) ? found : exported_gpu_original(function, caller);
}

}  // namespace

std::atomic<void*>& gpu_original(std::size_t function, std::size_t slot) {
    return originals[function][slot];
}

std::size_t gpu_function_named(const char* name) {
    std::size_t i = 0;
    while (i < gpu_function_count && std::strcmp(gpu_functions[i].name, name) != 0) ++i;
    return i;
}

void* gpu_wrapper_for(std::size_t function, void* found) {
    if (is_wrapper(function, found)) return found;
    for (std::size_t slot = 0; slot < gpu_slots; ++slot) {
        void* known = nullptr;
        if (gpu_original(function, slot).compare_exchange_strong(known, found) || known == found)
            return reinterpret_cast<void*>(gpu_wrapper(function, slot));
    }
    return found;
}

void* exported_gpu_original(std::size_t function, const void* caller) {
    std::atomic<void*>& known = gpu_original(function, exported_slot);
    void* found = known.load();
    if (found != nullptr) return found;
    found = visible_original(function, caller);
    if (found == nullptr) found = find_anywhere(function);
    known.store(found);
    return found;
}

void substitute_gpu_function(const char* symbol, int version, void** function) {
    if (symbol == nullptr || function == nullptr || *function == nullptr) return;
    constexpr int version_64_bit = 3020;
    const bool is_current = version == 0 || version >= version_64_bit;
    for (std::size_t i = 0; i < gpu_function_count; ++i) {
        const bool is_base = is_current && std::strcmp(symbol, gpu_functions[i].base) == 0;
        if (!is_base && std::strcmp(symbol, gpu_functions[i].name) != 0) continue;
        *function = gpu_wrapper_for(i, *function);
        return;
    }
}

bool is_for_gpu(void* handle, const char* name, const void* caller) {
    if (name[0] != 'c' || name[1] != 'u' || gpu_function_named(name) == gpu_function_count) return false;
    return handle != RTLD_NEXT || patches_code(caller);
}

void* find_for_gpu(void* handle, const char* name, const void* caller) {
    const std::size_t function = gpu_function_named(name);
    if (patches_code(caller)) return find_to_patch(function, handle, caller);
    void* const found = real_dlsym()(handle, name);
    if (found == nullptr) return found;
    if (!is_wrapper(function, found)) return gpu_wrapper_for(function, found);
    // The search met the exported symbol of this library. Without an original there is no such function for
    // the caller, who may well ask in order to learn whether there is CUDA; the second search leaves
    // dlerror's text.
    return visible_original(function, caller) != nullptr ? found : next_definition(name);
}

}  // namespace slowpath::watch
