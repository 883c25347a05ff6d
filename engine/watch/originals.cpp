// SPDX-License-Identifier: Apache-2.0
#include "watch/originals.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "watch/imports.hpp"
#include "watch/library.hpp"
#include "watch/loader.hpp"

namespace slowpath::watch {

constinit std::atomic<void*> known_originals[2][call_count] = {};

namespace {

constexpr std::size_t name_room = 64;
constinit std::atomic<void*> known_library{nullptr};

bool defines_mpi(void* handle, const char* path) {
    void* const found = handle == nullptr ? nullptr : real_dlsym()(handle, "MPI_Init");
    Dl_info about;
    return found != nullptr && dladdr(found, &about) != 0 && about.dli_fname != nullptr &&
           std::strcmp(about.dli_fname, path) == 0;
}

/// The first loaded library that defines MPI_Init itself, this one left out. Its scope may be local: mpi4py
/// and Julia open it so, and then no search by name finds it.
int open_if_mpi(dl_phdr_info* object, std::size_t, void* found) {
    const char* const path = object->dlpi_name;
    if (path == nullptr || *path == '\0' || is_this_library(path)) return 0;
    const char* const slash = std::strrchr(path, '/');
    if (std::strncmp(slash == nullptr ? path : slash + 1, "libmpi", 6) != 0) return 0;
    void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return 0;
    if (!defines_mpi(handle, path)) {
        dlclose(handle);
        return 0;
    }
    *static_cast<void**>(found) = handle;
    return 1;
}

/// The library that the global scope has a function of; nullptr: none.
void* open_global(const char* name) {
    void* const found = next_definition(name);
    Dl_info about;
    if (found == nullptr || dladdr(found, &about) == 0 || about.dli_fname == nullptr) return nullptr;
    return dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/// Whether an object has MPI itself: a library that only stands before one, as libslowpath-coll.so and tools
/// do, has no profiling names.
bool has_profiling_names(void* object, const Dl_info& about) {
    void* const init = real_dlsym()(object, "PMPI_Init");
    Dl_info of_init;
    return init != nullptr && dladdr(init, &of_init) != 0 && of_init.dli_fbase == about.dli_fbase;
}

/// In the caller's object and what that was linked with; not this library's own, and not the function of a
/// caller that stands before this library: it would come back here for ever.
void* find_for_caller(const char* name, const void* caller) {
    Dl_info about;
    if (dladdr(caller, &about) == 0 || about.dli_fname == nullptr || is_this_library(about.dli_fname))
        return nullptr;
    void* const object = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) return nullptr;
    void* const found = real_dlsym()(object, name);
    Dl_info of_found;
    const bool is_other = found != nullptr && dladdr(found, &of_found) != 0 &&
                          !is_this_library(of_found.dli_fname) &&
                          (of_found.dli_fbase != about.dli_fbase || has_profiling_names(object, about));
    dlclose(object);
    return is_other ? found : nullptr;
}

}  // namespace

void end_without(const char* name) {
    dprintf(STDERR_FILENO, "slowpath watch: the program calls %s, which its MPI library lacks\n", name);
    _exit(127);
}

void* library_handle() {
    void* found = known_library.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    // The profiling name first: a tool in between has none.
    found = open_global("PMPI_Init");
    if (found == nullptr) dl_iterate_phdr(open_if_mpi, &found);
    if (found == nullptr)
        return open_global("MPI_Init");  // perhaps a tool's, and the library is not open yet
    known_library.store(found, std::memory_order_release);
    return found;
}

bool take_original(Prefix prefix, Call call, void* found, void* library) {
    void* nobody = nullptr;
    known_library.compare_exchange_strong(nobody, library);
    std::atomic<void*>& known = known_originals[static_cast<std::size_t>(prefix)][call];
    nobody = nullptr;
    return known.compare_exchange_strong(nobody, found) || nobody == found;
}

void* find_original(Prefix prefix, Call call, const void* caller) {
    char whole[name_room];
    stpcpy(stpcpy(whole, "P"), shapes[call].name);  // snprintf takes 2 KiB of a stack that may be short
    const char* const name = prefix == Prefix::pmpi ? whole : whole + 1;
    const char* const other = prefix == Prefix::pmpi ? whole + 1 : whole;
    static constinit std::atomic<bool> is_withdrawn{false};
    if (!is_withdrawn.exchange(true)) withdraw_missing();
    void* found = next_definition(name);
    if (found == nullptr) found = find_for_caller(name, caller);
    void* const library = library_handle();
    if (found == nullptr && library != nullptr) {
        found = real_dlsym()(library, name);
        if (found == nullptr) found = real_dlsym()(library, other);
    }
    if (found == nullptr) end_without(name);
    known_originals[static_cast<std::size_t>(prefix)][call].store(found, std::memory_order_relaxed);
    return found;
}

void* function(const char* name) {
    void* const library = library_handle();
    if (library == nullptr) return nullptr;
    char whole[name_room];
    stpcpy(stpcpy(whole, "PMPI_"), name);
    void* const found = real_dlsym()(library, whole);
    return found != nullptr ? found : real_dlsym()(library, whole + 1);
}

}  // namespace slowpath::watch
