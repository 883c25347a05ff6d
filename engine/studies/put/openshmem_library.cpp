// SPDX-License-Identifier: Apache-2.0
#include "put/openshmem_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "mpi/check.hpp"

extern "C" char _end;  // the linker's: where this program's own data ends

namespace slowpath::put {
namespace {

struct Library {
    void* handle = nullptr;
    OpenShmemFunctions functions{};
    /// Open MPI's own mark that shmem_finalize was called on the way out and must leave MPI_Finalize to
    /// others.
    int* leaves_mpi_alone = nullptr;
    std::optional<std::string> unavailable;
    bool started = false;
};

/// The file that a symbol of this process came from; empty: there is no such symbol.
std::filesystem::path file_of(const char* symbol) {
    void* const address = dlsym(RTLD_DEFAULT, symbol);
    Dl_info found{};
    if (address == nullptr || dladdr(address, &found) == 0 || found.dli_fname == nullptr) return {};
    return found.dli_fname;
}

/// `liboshmem.so*` in the folder of the MPI library, or in the one that its links lead to; empty: none.
std::filesystem::path library_beside(const std::filesystem::path& mpi) {
    std::error_code ignored;
    for (const auto& folder : {mpi.parent_path(), std::filesystem::canonical(mpi, ignored).parent_path()}) {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
            if (entry.path().filename().string().starts_with("liboshmem.so")) found.push_back(entry.path());
        // The shortest of the names with a version is the one that programs are linked with.
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            const auto rank = [](const auto& path) {
                const std::string name = path.filename().string();
                return name == "liboshmem.so" ? std::string::npos : name.size();
            };
            return rank(a) < rank(b);
        });
        if (!found.empty()) return found.front();
    }
    return {};
}

template <class Pointer>
void find_entry(Library& library, const char* symbol, Pointer& entry) {
    entry = reinterpret_cast<Pointer>(dlsym(library.handle, symbol));
    if (entry == nullptr && !library.unavailable)
        library.unavailable = std::string("the OpenSHMEM library next to this MPI lacks ") + symbol;
}

void find_entries(Library& library) {
    OpenShmemFunctions& f = library.functions;
    find_entry(library, "shmem_init", f.init);
    find_entry(library, "shmem_finalize", f.finalize);
    find_entry(library, "shmem_align", f.align);
    find_entry(library, "shmem_free", f.free);
    find_entry(library, "shmem_ptr", f.ptr);
    find_entry(library, "shmem_double_put", f.double_put);
    find_entry(library, "shmem_double_put_nbi", f.double_put_nbi);
    find_entry(library, "shmem_double_p", f.double_p);
    find_entry(library, "shmem_quiet", f.quiet);
    find_entry(library, "shmem_barrier_all", f.barrier_all);
    find_entry(library, "oshmem_shmem_inglobalexit", library.leaves_mpi_alone);
}

/// What speaks against it before anything is loaded.
std::optional<std::string> refusal() {
    int ranks = 0;
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    if (dlsym(RTLD_DEFAULT, "ompi_mpi_init") == nullptr)
        return "only Open MPI brings an OpenSHMEM library that runs within an MPI job";
    if (ranks != 2)
        return "OpenSHMEM allocates on all ranks together, and this job has " + std::to_string(ranks) +
               "; start it with 2";
    // liboshmem takes all writable memory below `_end` for symmetric data.  Without the program's own `_end`
    // it finds one far above the heap, and ranks that then count unlike numbers of segments crash in
    // shmem_init.
    if (dlsym(RTLD_DEFAULT, "_end") != &_end)
        return "this program was linked without --export-dynamic-symbol=_end, which Open MPI's OpenSHMEM "
               "needs";
    return std::nullopt;
}

void load(Library& library) {
    library.unavailable = refusal();
    if (library.unavailable) return;
    const std::filesystem::path mpi = file_of("MPI_Put");
    const std::filesystem::path file = library_beside(mpi);
    if (file.empty()) {
        library.unavailable =
            "this Open MPI was built without OpenSHMEM: no liboshmem.so next to " + mpi.string();
        return;
    }
    library.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (library.handle == nullptr) {
        library.unavailable =
            std::string("the OpenSHMEM library next to this MPI can't be loaded: ") + dlerror();
        return;
    }
    find_entries(library);
    if (!library.unavailable && dlsym(library.handle, "MPI_Put") != dlsym(RTLD_DEFAULT, "MPI_Put"))
        library.unavailable = file.string() + " belongs to another MPI than " + mpi.string();
}

Library& loaded() {
    static Library* const once = [] {
        auto* const library = new Library;  // never gone: callbacks lead into it until the process ends
        load(*library);
        return library;
    }();
    return *once;
}

/// Keep a component of Open MPI in memory for good.  At the end of OpenSHMEM libmca_common_ucx.so is unloaded
/// while functions of it are still registered: any program of OpenSHMEM crashes after shmem_finalize then
/// (seen with Open MPI 4.1.4 of Debian 12).
int keep_component(dl_phdr_info* info, std::size_t, void*) {
    if (info->dlpi_name != nullptr &&
        std::string_view(info->dlpi_name).find("mca_") != std::string_view::npos)
        dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

/// The last that OpenSHMEM does, at the beginning of MPI_Finalize.  shmem_finalize by itself would finalise
/// MPI too, and after MPI_Finalize it would be too late for its barrier.
int end_with_mpi(MPI_Comm, int, void*, void*) {
    Library& library = loaded();
    *library.leaves_mpi_alone = 1;
    library.functions.finalize();
    *library.leaves_mpi_alone = 0;
    return MPI_SUCCESS;
}

/// Attributes of MPI_COMM_SELF are deleted before anything else is finalised (MPI-4.1 section 11.2.4).
void end_before_mpi() {
    int key = MPI_KEYVAL_INVALID;
    mpi::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_mpi, &key, nullptr),
               "MPI_Comm_create_keyval");
    mpi::check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    mpi::check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

/// shmem_init makes the process deaf to SIGTERM, with which launchers end a job.
void start(Library& library) {
    constexpr std::array signals{SIGTERM, SIGUSR1};
    std::array<struct sigaction, signals.size()> before{};
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &before[i]);
    library.functions.init();
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before[i], nullptr);
    dl_iterate_phdr(keep_component, nullptr);
    end_before_mpi();
    library.started = true;
}

}  // namespace

std::optional<std::string> openshmem_unavailable() {
    return loaded().unavailable;
}

const OpenShmemFunctions& started_openshmem() {
    Library& library = loaded();
    if (!library.started) start(library);
    return library.functions;
}

}  // namespace slowpath::put
