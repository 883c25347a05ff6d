// SPDX-License-Identifier: Apache-2.0
// OpenSHMEM's puts, by the library that belongs to the MPI in use: found next to it, loaded at run time,
// started within the MPI job and ended with it. Open MPI only, whose OpenSHMEM shares its processes with MPI.
// The program has to be linked with `--export-dynamic-symbol=_end`: without it shmem_init crashes in about
// one start of three.
#include "put/openshmem.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "layers/burst.hpp"
#include "layers/error.hpp"
#include "layers/library.hpp"
#include "mpi/session.hpp"
#include "put/runner.hpp"

extern "C" char _end;  // the linker's: where this program's own data ends

namespace slowpath::put {
namespace {

/// Entry points, as OpenSHMEM 1.4 has them (sections 9.1, 9.3, 9.5 and 9.11).
struct OpenShmemFunctions {
    void (*init)();
    void (*finalize)();
    void* (*align)(std::size_t alignment, std::size_t bytes);
    void (*free)(void* address);
    void (*double_put)(double* target, const double* origin, std::size_t count, int pe);
    void (*double_p)(double* target, double value, int pe);
    void (*quiet)();
    void (*barrier_all)();
};

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
    find_entry(library, "shmem_double_put", f.double_put);
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

/// Why nothing can be put through OpenSHMEM in this job; nullopt: it can.  Loads the library, and starts
/// nothing. Of this rank only: all ranks have to agree before one starts it.
std::optional<std::string> openshmem_unavailable() {
    return loaded().unavailable;
}

/// The library, started.  Once for each process: it can't be started again, and ends within MPI_Finalize.
/// Collective over MPI_COMM_WORLD the first time; openshmem_unavailable() must have returned nothing on every
/// rank.
const OpenShmemFunctions& started_openshmem() {
    Library& library = loaded();
    if (!library.started) start(library);
    return library.functions;
}

using layers::Burst;
using layers::Order;

constexpr std::size_t page_bytes = 4096;

OpenShmemFunctions functions;  // bursts are plain functions

double* doubles(std::byte* address) {
    return reinterpret_cast<double*>(address);
}
const double* doubles(const std::byte* address) {
    return reinterpret_cast<const double*>(address);
}

struct Puts {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;
        const auto put = functions.double_put;
        const std::size_t count = burst.message_bytes / sizeof(double);
        return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
            put(doubles(burst.local + place), doubles(burst.origin + place), count, burst.target);
            return int{layers::success};
        });
    }
};

/// A put of n words is n calls.
struct Words {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;
        const auto p = functions.double_p;
        return layers::run_puts<order>(burst, 1, [&](std::uint64_t place) {
            for (std::uint64_t word = 0; word < burst.message_bytes; word += sizeof(double)) {
                double value;
                std::memcpy(&value, burst.origin + place + word, sizeof value);
                p(doubles(burst.local + place + word), value, burst.target);
            }
            return int{layers::success};
        });
    }
};

struct Design {
    std::string_view name;
    std::array<layers::RunPuts, layers::orders> puts;
};

constexpr std::array designs{
    Design{"openshmem_put", layers::in_all_orders<Puts>()},
    Design{"openshmem_p", layers::in_all_orders<Words>()},
};

layers::RunPuts loop_of(const Config& config) {
    for (const Design& design : designs)
        if (design.name == config.design) return design.puts[static_cast<std::size_t>(config.order)];
    throw UsageError("design=" + config.design + " is none of OpenSHMEM's");
}

class OpenShmemRunner final : public Runner {
  public:
    /// @param memory Symmetric, [layout.bytes()] on each rank.
    OpenShmemRunner(const Config& config, const Layout& layout, const OriginMemory& origin, std::byte* memory)
        : puts_(loop_of(config)), layout_(layout), memory_(memory) {
        burst_ = {.target = Pair::target,
                  .local = memory,
                  .origin = origin.data,
                  .message_bytes = static_cast<std::uint64_t>(config.message_bytes),
                  .slot_bytes = static_cast<std::uint64_t>(layout_.slot_bytes),
                  .mask = layout_.mask(),
                  .shuffled = layout_.shuffled.data(),
                  .puts = config.puts};
    }

    std::span<std::byte> memory() override { return {memory_, layout_.bytes()}; }

    /// Symmetric memory is always open to puts; the barrier keeps them apart from what the owner does with
    /// it.
    int begin_epoch() override {
        functions.barrier_all();
        return 0;
    }
    int end_epoch() override {
        functions.barrier_all();  // OpenSHMEM 1.4 section 9.9.1: completes all puts
        return 0;
    }

    int run(std::int64_t bursts) override {
        for (std::int64_t i = 0; i < bursts; ++i) {
            if (const int code = puts_(burst_)) [[unlikely]]
                return code;
            close();
        }
        return 0;
    }
    int puts() override { return puts_(burst_); }
    int close() override {
        functions.quiet();
        return 0;
    }
    void set_puts(std::int64_t puts) override { burst_.puts = puts; }

    std::string error_text(int code) const override {
        return "OpenSHMEM: " + std::string(layers::describe(code));
    }

    void release() override {
        functions.free(memory_);  // collective, with a barrier first
        memory_ = nullptr;
    }

  private:
    layers::RunPuts puts_;
    Layout layout_;  ///< a copy: the burst points into it
    std::byte* memory_;
    Burst burst_;
};

/// @return What keeps this rank from putting to the target, now that it has its memory.
std::optional<std::string> failure_of(std::byte* memory, std::size_t bytes) {
    if (memory == nullptr)
        return "OpenSHMEM's symmetric heap has no " + std::to_string(bytes) +
               " bytes left; set SHMEM_SYMMETRIC_SIZE to more";
    return std::nullopt;
}

}  // namespace

Made make_openshmem_runner(const Config& config, const Layout& layout, const Pair& pair,
                           const OriginMemory& origin) {
    // Both ranks start it or neither does.
    if (const auto reason = pair.first_text(openshmem_unavailable()))
        return {nullptr, "design=" + config.design + ": " + *reason};
    functions = started_openshmem();
    auto* const memory = static_cast<std::byte*>(functions.align(page_bytes, layout.bytes()));
    if (const auto reason = pair.first_text(failure_of(memory, layout.bytes()))) {
        if (memory != nullptr) functions.free(memory);
        return {nullptr, "design=" + config.design + ": " + *reason};
    }
    return {std::make_unique<OpenShmemRunner>(config, layout, origin, memory), std::nullopt};
}

}  // namespace slowpath::put
