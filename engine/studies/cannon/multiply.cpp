// SPDX-License-Identifier: Apache-2.0
#include "cannon/multiply.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"

namespace slowpath::cannon {

namespace {

constexpr std::array all{
    Kernel{"blas", nullptr, ""},
    Kernel{"loop_O0", loop_O0, "-O0"},
    Kernel{"loop_O2", loop_O2, "-O2"},
    Kernel{"loop_O3", loop_O3, "-O3"},
    Kernel{"loop_native", loop_native, SLOWPATH_CANNON_FLAGS},
};

}  // namespace

std::span<const Kernel> kernels() {
    return all;
}

std::string_view compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown compiler";
#endif
}

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

std::int64_t columns_of_piece(std::int64_t panel, std::int64_t asked) {
    return std::max<std::int64_t>(1, asked < panel ? asked : (panel + 1) / 2);
}

Multiply::Multiply(const Layout& layout, const Blas* blas, Loop* loop, Timeline& timeline,
                   std::int64_t panel_columns)
    : layout_(layout),
      blas_(blas),
      loop_(loop),
      timeline_(timeline),
      piece_columns_(columns_of_piece(layout.panel(), panel_columns)) {}

void Multiply::whole(int step, const double* a, const double* b, double* c) {
    piece(step, a, b, layout_.panel(), c);
}

void Multiply::in_pieces(int step, const double* a, const double* b, double* c,
                         const std::function<void()>& poke) {
    for (std::int64_t k = 0; k < layout_.panel(); k += piece_columns_) {
        piece(step, a + k * layout_.c_rows(), b + k, std::min(piece_columns_, layout_.panel() - k), c);
        if (k + piece_columns_ < layout_.panel()) timeline_.timed(Part::test, step, poke);
    }
}

void Multiply::piece(int step, const double* a, const double* b, std::int64_t k, double* c) {
    const auto m = static_cast<int>(layout_.c_rows()), n = static_cast<int>(layout_.c_columns());
    const auto columns = static_cast<int>(k), ldb = static_cast<int>(layout_.panel());
    if (loop_ != nullptr)
        timeline_.timed(Part::dgemm, step, [&] { loop_(m, n, columns, a, b, ldb, c); });
    else
        timeline_.timed(Part::dgemm, step, [&] { blas_->multiply(m, n, columns, a, b, ldb, c); });
}

}  // namespace slowpath::cannon
