// SPDX-License-Identifier: Apache-2.0
#include "nccl/open_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.hpp"
#include "nccl/package_files.hpp"

namespace slowpath::nccl {
namespace {

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

void* open_library(const LibraryPlace& place) {
    if (const std::string named = from_environment(place.variable); !named.empty()) {
        if (void* const library = dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        const char* const why = dlerror();
        throw EnvironmentFailure(std::string(place.variable) + ": " + (why != nullptr ? why : named));
    }
    if (void* const library = dlopen(place.file, RTLD_NOW | RTLD_LOCAL)) return library;
    for (const std::string& file :
         package_files(from_environment("PYTHONPATH"), from_environment("PATH"), place.in_package))
        if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    throw EnvironmentFailure(std::string("no ") + place.what + ": " + place.file +
                             " is neither where the dynamic loader looks nor in a Python package of PATH or "
                             "PYTHONPATH; pip install " +
                             place.package + ", or name the file by " + place.variable);
}

std::string file_of(const void* symbol) {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace slowpath::nccl
