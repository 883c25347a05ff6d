// SPDX-License-Identifier: Apache-2.0
#include "cannon/scalapack.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "cannon/blas.hpp"
#include "core/error.hpp"

namespace slowpath::cannon {
namespace {

/// Debian names a build after its MPI, others do not name it.  The plain name last: it may belong to any MPI.
constexpr std::array file_names{
#if defined(OPEN_MPI)
    "libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1", "libscalapack-openmpi.so",
#elif defined(MPICH_VERSION)
    "libscalapack-mpich.so.2.2", "libscalapack-mpich.so.2.1", "libscalapack-mpich.so",
#endif
    "libscalapack.so.2.2", "libscalapack.so"};

template <class Function>
void take(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("this ScaLAPACK has no ") + name +
                                 "; install a whole one, with its BLACS (2.0 or newer)");
}

std::string file_of(void* address) {
    Dl_info info;
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    std::error_code error;
    const auto real = std::filesystem::canonical(info.dli_fname, error);
    return error ? info.dli_fname : real.string();
}

/// Two files may both define a function; the dynamic linker takes the program's own.  A ScaLAPACK that was
/// compiled for another MPI would then call this one with that one's constants.
std::optional<std::string> other_mpi(void* library) {
    const std::string ours = file_of(dlsym(RTLD_DEFAULT, "MPI_Comm_dup"));
    const std::string theirs = file_of(dlsym(library, "MPI_Comm_dup"));
    if (!theirs.empty() && ours == theirs) return std::nullopt;
    return "it belongs to another MPI: it needs " + (theirs.empty() ? "one that it does not name" : theirs) +
           ", this program runs with " + ours;
}

/// The dynamic linker binds ScaLAPACK's dgemm_ to the first one that is visible to all, so that this is the
/// one that it calls.
std::optional<std::string> other_blas() {
    const std::string bound = file_of(dlsym(RTLD_DEFAULT, "dgemm_"));
    for (const std::string& ours : {Blas::loaded().file(), Blas::loaded().plugin()}) {
        std::error_code error;
        const auto real = std::filesystem::canonical(ours, error);
        if (!error && bound == real.string()) return std::nullopt;
    }
    return "it would multiply with " + (bound.empty() ? "a BLAS of its own" : bound) +
           " and not with the engine's, so that BLASes would be compared";
}

std::string text_of_error() {
    const char* const text = dlerror();
    return text == nullptr ? "unknown error" : text;
}

}  // namespace

const Scalapack& Scalapack::loaded() {
    static const Scalapack library = found();
    return library;
}

Scalapack Scalapack::found() {
    Blas::loaded().show_to_all();
    std::string why_not;
    void* const library = opened(why_not);
    if (library == nullptr)
        throw EnvironmentFailure("no ScaLAPACK for this MPI: " + why_not +
                                 "; install it (Debian: libscalapack-openmpi2.2, libscalapack-mpich2.2) or "
                                 "put its folder on LD_LIBRARY_PATH");
    Scalapack made;
    made.bind(library);
    made.file_ = file_of(reinterpret_cast<void*>(made.pdgemm_));
    return made;
}

/// @param why_not Says why, where there is none: of the last file that is there at all, else of the first.
void* Scalapack::opened(std::string& why_not) {
    for (const char* const name : file_names) {
        void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            if (why_not.empty()) why_not = text_of_error();
            continue;
        }
        std::optional<std::string> wrong = other_mpi(library);
        if (!wrong) wrong = other_blas();
        if (!wrong) return library;
        dlclose(library);
        why_not = std::string(name) + ": " + *wrong;
    }
    return nullptr;
}

void Scalapack::bind(void* library) {
    take(library, "numroc_", numroc_);
    take(library, "descinit_", descinit_);
    take(library, "pdgemm_", pdgemm_);
    take(library, "Cpdgemr2d", redistribute_);
    take(library, "Csys2blacs_handle", handle_of_);
    take(library, "Cfree_blacs_system_handle", free_handle_);
    take(library, "Cblacs_gridinit", make_grid_);
    take(library, "Cblacs_gridexit", free_grid_);
}

int Scalapack::held(int n, int block, int at, int of) const {
    constexpr int first = 0;
    return numroc_(&n, &block, &at, &first, &of);
}

Descriptor Scalapack::describe(int n, int block_rows, int block_columns, int context, int local_rows) const {
    constexpr int first = 0;
    Descriptor made{};
    int info = 0;
    const int leading = local_rows > 1 ? local_rows : 1;
    descinit_(made.data(), &n, &n, &block_rows, &block_columns, &first, &first, &context, &leading, &info);
    if (info != 0)
        throw EnvironmentFailure("descinit_ of " + file_ + " refuses its argument " + std::to_string(-info));
    return made;
}

void Scalapack::multiply(int n, const double* a, const Descriptor& of_a, const double* b,
                         const Descriptor& of_b, double* c, const Descriptor& of_c) const {
    constexpr double one = 1, zero = 0;
    constexpr int at = 1;
    pdgemm_("N", "N", &n, &n, &n, &one, a, &at, &at, of_a.data(), b, &at, &at, of_b.data(), &zero, c, &at,
            &at, of_c.data());
}

void Scalapack::deal_out(int n, const double* from, const Descriptor& of_from, double* to,
                         const Descriptor& of_to, int context) const {
    redistribute_(n, n, from, 1, 1, of_from.data(), to, 1, 1, of_to.data(), context);
}

ProcessGrid::ProcessGrid(const Scalapack& library, MPI_Comm communicator, int rows, int columns)
    : library_(library), handle_(library.handle_of_(communicator)), context_(handle_) {
    library_.make_grid_(&context_, "Row", rows, columns);
}

ProcessGrid::~ProcessGrid() {
    library_.free_grid_(context_);
    library_.free_handle_(handle_);
}

}  // namespace slowpath::cannon
