// SPDX-License-Identifier: Apache-2.0
#include "cannon/blas.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"

namespace slowpath::cannon {
namespace {

constexpr const char* plugin_name = "libslowpath-blas.so";

std::string beside_program() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    return (program.parent_path() / plugin_name).string();
}

template <class Function>
Function symbol(void* plugin, const char* name) {
    void* const found = dlsym(plugin, name);
    if (found == nullptr)
        throw EnvironmentFailure(std::string(plugin_name) + " has no " + name +
                                 "; build the engine again: slowpath mpi build --force");
    return reinterpret_cast<Function>(found);
}

/// Without these a BLAS starts one thread a core when it is loaded.
void ask_for_one_thread() {
    for (const char* const name :
         {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"})
        setenv(name, "1", 1);
}

std::string text_of(const char* text) {
    return text == nullptr ? "" : text;
}

}  // namespace

const Blas& Blas::loaded() {
    static const Blas blas = [] {
        ask_for_one_thread();
        const std::string path = beside_program();
        void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr)
            throw EnvironmentFailure("no BLAS: " + text_of(dlerror()) +
                                     "; install OpenBLAS, BLIS, MKL or AOCL for developers, or: pip install "
                                     "'slowpath[blas]', then: slowpath mpi build");
        Blas made;
        made.dgemm_ = symbol<decltype(made.dgemm_)>(plugin, "slowpath_blas_dgemm");
        made.name_ = text_of(symbol<const char* (*)()>(plugin, "slowpath_blas_name")());
        made.core_ = text_of(symbol<const char* (*)()>(plugin, "slowpath_blas_core")());
        made.file_ = text_of(symbol<const char* (*)()>(plugin, "slowpath_blas_file")());
        made.threads_ = symbol<int (*)()>(plugin, "slowpath_blas_use_one_thread")();
        return made;
    }();
    return blas;
}

void Blas::multiply(int m, int n, int k, const double* a, const double* b, int ldb, double* c) const {
    constexpr double one = 1;
    dgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &ldb, &one, c, &m);
}

}  // namespace slowpath::cannon
