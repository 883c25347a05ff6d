// SPDX-License-Identifier: Apache-2.0
/// dlsym, so that programs that open MPI themselves (Julia, ctypes) get the wrappers, and those that ask
/// whether MPI has a call are not answered by this library's own symbols.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "watch/found.hpp"
#include "watch/loader.hpp"
#include "watch/originals.hpp"

namespace slowpath::watch {
namespace {

constinit std::atomic<std::uint32_t> times_found[call_count] = {};

/// A wrapped call by its name without "MPI_"; call_count: none. The table is sorted.
std::size_t number_of(const char* name) {
    std::size_t begin = 0, end = call_count;
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        const int order = std::strcmp(name, shapes[middle].name);
        if (order == 0) return middle;
        if (order < 0)
            end = middle;
        else
            begin = middle + 1;
    }
    return call_count;
}

bool is_named_as_mpi(const char* name) {
    return std::strncmp(name + (name[0] == 'P' ? 1 : 0), "MPI_", 4) == 0;
}

/// An object that defines MPI itself: a layer that opens an MPI underneath must get that one's functions.
bool defines_mpi(const void* address) {
    Dl_info about, of_init;
    if (dladdr(address, &about) == 0 || about.dli_fname == nullptr) return false;
    void* const object = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) return false;
    void* const init = real_dlsym()(object, "MPI_Init");
    dlclose(object);
    return init != nullptr && dladdr(init, &of_init) != 0 && of_init.dli_fbase == about.dli_fbase;
}

bool is_of_this_library(const void* address) {
    Dl_info about;
    return dladdr(address, &about) != 0 && about.dli_fname != nullptr && is_this_library(about.dli_fname);
}

/// What the search would have found without this library; nullptr, with a text in dlerror: nothing.
void* behind(void* wrapper, const char* name) {
    void* const library = library_handle();
    if (next_definition(name) != nullptr || (library != nullptr && real_dlsym()(library, name) != nullptr))
        return wrapper;
    void* const nothing = real_dlsym()(RTLD_NEXT, name);
    return nothing;
}

[[gnu::noinline]] void* find(void* handle, const char* name, const void* caller) {
    void* const found = real_dlsym()(handle, name);
    const std::size_t call = number_of(name + (name[0] == 'P' ? 1 : 0));
    if (found == nullptr || call == call_count) return found;
    if (is_of_this_library(found)) {
        void* const given = behind(found, name);
        if (given != nullptr) times_found[call].fetch_add(1, std::memory_order_relaxed);
        return given;
    }
    if (!defines_mpi(found) || defines_mpi(caller)) return found;
    const Prefix prefix = name[0] == 'P' ? Prefix::pmpi : Prefix::mpi;
    Dl_info about;
    void* const library =
        dladdr(found, &about) != 0 ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (library == nullptr || !take_original(prefix, static_cast<Call>(call), found, library)) return found;
    times_found[call].fetch_add(1, std::memory_order_relaxed);
    return wrapper_of(prefix, static_cast<Call>(call));
}

}  // namespace

std::uint32_t times_found_by_dlsym(Call call) {
    return times_found[call].load(std::memory_order_relaxed);
}

}  // namespace slowpath::watch

/// What dlsym finds for RTLD_NEXT and RTLD_DEFAULT depends on the library that its return address is in. So
/// all searches that are none of our business go on as a jump, which keeps that address; hence -O2, in any
/// build.
extern "C" [[gnu::visibility("default")]] void* dlsym(void* __restrict handle,
                                                      const char* __restrict name) noexcept {
    using namespace slowpath::watch;
    if (is_for_gpu(handle, name, __builtin_return_address(0)))
        return find_for_gpu(handle, name, __builtin_return_address(0));
    if (!is_named_as_mpi(name) || handle == RTLD_NEXT) return real_dlsym()(handle, name);
    return find(handle, name, __builtin_return_address(0));
}
