// SPDX-License-Identifier: Apache-2.0
#include "replace/original.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace slowpath::replace {

namespace {

struct Search {
    const char* name;
    void* found;
};

/// mpi4py and Julia open MPI in a scope of its own, where no search by name finds it: the loaded library of
/// that name that has the function.
int search_object(dl_phdr_info* object, std::size_t, void* wanted) {
    auto* const search = static_cast<Search*>(wanted);
    const char* const path = object->dlpi_name;
    if (path == nullptr) return 0;
    const char* const slash = std::strrchr(path, '/');
    if (std::strncmp(slash == nullptr ? path : slash + 1, "libmpi", 6) != 0) return 0;
    void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return 0;
    search->found = dlsym(library, search->name);
    dlclose(library);
    return search->found != nullptr ? 1 : 0;
}

}  // namespace

void* original(const char* name) {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    char of_library[64];
    std::snprintf(of_library, sizeof of_library, "P%s", name);
    if (void* const found = in_library(of_library)) return found;
    std::fprintf(stderr, "slowpath-coll: the MPI library has no %s\n", name);
    std::abort();
}

void* in_library(const char* name) {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    Search search{name, nullptr};
    dl_iterate_phdr(search_object, &search);
    return search.found;
}

void* data_of_library(const char* name) {
    void* const first = dlsym(RTLD_DEFAULT, name);
    return first != nullptr ? first : in_library(name);
}

bool has_library_our_interface() {
#ifdef OMPI_MAJOR_VERSION
    return data_of_library("ompi_mpi_comm_world") != nullptr;
#else
    Search search{"PMPI_Init", nullptr};
    dl_iterate_phdr(search_object, &search);
    Dl_info about;
    const bool is_known = search.found != nullptr && dladdr(search.found, &about) != 0;
    const bool is_abi = is_known && std::strstr(about.dli_fname, "/libmpi_abi.") != nullptr;
    return is_abi == std::is_pointer_v<MPI_Comm> && data_of_library("ompi_mpi_comm_world") == nullptr;
#endif
}

}  // namespace slowpath::replace
