// SPDX-License-Identifier: Apache-2.0
/// The MPI library's own functions under their profiling names (MPI-4.1 section 15.2), found when a rank
/// calls them: the library is loaded into programs without MPI too.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace slowpath::plant {

template <class Function>
Function profiled(const char* name) {
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "slowpath-plant: error: the MPI library has no %s\n", name);
        std::abort();
    }
    return reinterpret_cast<Function>(found);
}

}  // namespace slowpath::plant
