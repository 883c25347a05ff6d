// SPDX-License-Identifier: Apache-2.0
// libslowpath-coll.so, preloaded into every program of a job: the blocking collectives, each by one jump to
// the library's own function, or to its replacement where a table has rows about its bytes.
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "replace/agreement.hpp"
#include "replace/original.hpp"
#include "replace/parts.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using slowpath::replace::LastWindow;
using slowpath::replace::original;
using slowpath::replace::Parts;
using slowpath::replace::Window;

enum Call : std::size_t {
    barrier,
    bcast,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
#if MPI_VERSION >= 4
    bcast_c,
    gather_c,
    scatter_c,
    allgather_c,
    alltoall_c,
    reduce_c,
    allreduce_c,
    reduce_scatter_block_c,
    scan_c,
    exscan_c,
#endif
    call_count
};

/// In the order of Call.
constexpr std::array<const char*, call_count> names{
    "MPI_Barrier",        "MPI_Bcast",
    "MPI_Gather",         "MPI_Scatter",
    "MPI_Allgather",      "MPI_Alltoall",
    "MPI_Reduce",         "MPI_Allreduce",
    "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",           "MPI_Exscan",
#if MPI_VERSION >= 4
    "MPI_Bcast_c",        "MPI_Gather_c",
    "MPI_Scatter_c",      "MPI_Allgather_c",
    "MPI_Alltoall_c",     "MPI_Reduce_c",
    "MPI_Allreduce_c",    "MPI_Reduce_scatter_block_c",
    "MPI_Scan_c",         "MPI_Exscan_c",
#endif
};

/// Of one collective, in one cache line. target: where it goes; null before its first call.  own: the
/// library's function, once calls are replaced.  last: which counts of a datatype are the target's; null:
/// all.
struct alignas(32) Way {
    std::atomic<void*> target{nullptr};
    std::atomic<void*> own{nullptr};
    LastWindow last{nullptr};
};
constinit std::array<Way, call_count> ways{};
constinit std::atomic<const Parts*> parts{nullptr};
constinit std::atomic<bool> has_begun{false};

template <class Function>
Function original_as(const char* name) {
    return reinterpret_cast<Function>(original(name));
}

[[gnu::noinline, gnu::cold]] void* find_target(Call call) {
    void* const found = original(names[call]);
    void* nobody = nullptr;
    ways[call].target.compare_exchange_strong(nobody, found);
    return found;
}

/// Wide enough for the handles of any library, Open MPI's addresses and MPICH's numbers alike: where this
/// library is compiled for another MPI than the program's, calls pass whole.
using Handle = std::uintptr_t;

template <class Own>
Own as(Handle handle) {
    if constexpr (std::is_pointer_v<Own>)
        return reinterpret_cast<Own>(handle);
    else
        return static_cast<Own>(handle);
}

[[gnu::always_inline]] inline void* target(Call call) {
    void* const known = ways[call].target.load(std::memory_order_relaxed);
    return known != nullptr ? known : find_target(call);
}

/// As above, for a call whose length these say: one that no row is about does not leave this library but for
/// its own function.
/// @param plain The collective with counts of int, whose window is that of both.
[[gnu::always_inline]] inline void* target(Call call, MPI_Count count, Handle type, Call plain) {
    const Window* const last = ways[plain].last.load(std::memory_order_acquire);
    if (last != nullptr && last->type == as<MPI_Datatype>(type) && count >= 0 && !last->holds(count))
        return ways[call].own.load(std::memory_order_relaxed);
    return target(call);
}

template <class... Arguments>
[[gnu::always_inline]] inline int pass(void* to, Arguments... arguments) {
    return reinterpret_cast<int (*)(Arguments...)>(to)(arguments...);
}

/// libslowpath-coll-parts.so from the folder of this library; nullptr, with the problem: it can't be used.
const Parts* open_parts(std::array<char, 4352>& problem) {
    char path[4096];
    problem = {"the folder of libslowpath-coll.so is not known"};
    Dl_info here;
    if (dladdr(reinterpret_cast<void*>(&open_parts), &here) == 0 || here.dli_fname == nullptr) return nullptr;
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash - here.dli_fname) + 1;
    std::snprintf(path, sizeof path, "%.*slibslowpath-coll-parts.so", folder, here.dli_fname);
    // Not opened for another MPI, whose library would come along and be looked at in place of the program's.
    const bool is_ours = slowpath::replace::has_library_our_interface();
    void* const library = is_ours ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (is_ours && library == nullptr) {
        std::snprintf(problem.data(), problem.size(), "%s", dlerror());
        return nullptr;
    }
    void* const entry = is_ours ? dlsym(library, "slowpath_coll_parts") : nullptr;
    const auto get = reinterpret_cast<decltype(&slowpath_coll_parts)>(entry);
    const Parts* const found = get == nullptr ? nullptr : get();
    // Bound to another MPI than the program's: compiled for that one.
    // A library preloaded before this one may define the profiling names, too, as libslowpath-watch.so does.
    void* const first = dlsym(RTLD_DEFAULT, "PMPI_Init");
    void* const behind = dlsym(RTLD_NEXT, "PMPI_Init");
    void* const own = behind != nullptr ? behind : original("MPI_Init");
    if (found == nullptr || (found->profiled_init != own && found->profiled_init != first)) {
        std::snprintf(problem.data(), problem.size(), "%s is built for another MPI than the program's", path);
        return nullptr;
    }
    return found;
}

void begin() {
    if (has_begun.exchange(true)) return;
    const char* const table = std::getenv("SLOWPATH_COLL");
    const bool has_table = table != nullptr && *table != '\0';
    std::array<char, 4352> problem{};
    const Parts* const found = open_parts(problem);
    if (!slowpath::replace::agree(found == nullptr ? problem.data() : nullptr, has_table)) return;
    parts.store(found);
    if (!found->begin(table, std::getenv("SLOWPATH_COLL_REPORT"))) return;
    for (std::size_t call = 0; call < call_count; ++call) {
        const bool has_window = call <= exscan && call != barrier && call != reduce_scatter;
        LastWindow* const last = has_window ? &ways[call].last : nullptr;
        void* const replacement = found->replacement(names[call], last);
        if (replacement == nullptr) continue;
        ways[call].own.store(original(names[call]));
        ways[call].target.store(replacement);
    }
}

/// Calls after MPI_Finalize are the library's to refuse.
void end() {
    const Parts* const used = parts.exchange(nullptr);
    if (used == nullptr) return;
    used->report();
    for (std::size_t call = 0; call < call_count; ++call) {
        ways[call].last.store(nullptr);
        if (void* const own = ways[call].own.load()) ways[call].target.store(own);
    }
}

}  // namespace

SLOWPATH_EXPORT int MPI_Init(int* argc, char*** argv) {
    const int code = original_as<decltype(&MPI_Init)>("MPI_Init")(argc, argv);
    if (code == MPI_SUCCESS) begin();
    return code;
}

namespace {

/// Fortran layers that call the functions of C, as that of Intel MPI does, have begun when this is asked. One
/// that calls the profiling names, as Open MPI's does, passes all of its calls by; MPICH's mpi_f08 does so
/// for calls without a buffer alone, MPI_Init among them.
void begin_of_fortran() {
    if (has_begun.load()) return;
    begin();
    if (const Parts* const used = parts.load())
        used->say(
            "the Fortran layer of this MPI calls profiling names: collectives that it calls so are not "
            "replaced, those from C are; SLOWPATH_COLL_REPORT counts what is");
}

}  // namespace

SLOWPATH_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int code =
        original_as<decltype(&MPI_Init_thread)>("MPI_Init_thread")(argc, argv, required, provided);
    if (code == MPI_SUCCESS) begin();
    return code;
}

SLOWPATH_EXPORT void mpi_init_(int* error) {
    original_as<decltype(&mpi_init_)>("mpi_init_")(error);
    begin_of_fortran();
}

SLOWPATH_EXPORT void mpi_init_thread_(int* required, int* provided, int* error) {
    original_as<decltype(&mpi_init_thread_)>("mpi_init_thread_")(required, provided, error);
    begin_of_fortran();
}

SLOWPATH_EXPORT void mpi_init_f08_(int* error) {
    original_as<decltype(&mpi_init_f08_)>("mpi_init_f08_")(error);
    begin_of_fortran();
}

SLOWPATH_EXPORT void mpi_init_thread_f08_(int* required, int* provided, int* error) {
    original_as<decltype(&mpi_init_thread_f08_)>("mpi_init_thread_f08_")(required, provided, error);
    begin_of_fortran();
}

SLOWPATH_EXPORT int MPI_Finalize() {
    end();
    return original_as<decltype(&MPI_Finalize)>("MPI_Finalize")();
}

SLOWPATH_EXPORT void mpi_finalize_(int* error) {
    end();
    original_as<decltype(&mpi_finalize_)>("mpi_finalize_")(error);
}

SLOWPATH_EXPORT void mpi_finalize_f08_(int* error) {
    end();
    original_as<decltype(&mpi_finalize_f08_)>("mpi_finalize_f08_")(error);
}

// mpi.h has declared these functions with its own handles, so they get other names here, and MPI's from the
// assembler.
#define SLOWPATH_STANDS_FOR(name, ...)                                 \
    SLOWPATH_EXPORT int stands_for_##name(__VA_ARGS__) __asm__(#name); \
    SLOWPATH_EXPORT int stands_for_##name(__VA_ARGS__)

SLOWPATH_STANDS_FOR(MPI_Barrier, Handle among) {
    return pass(target(barrier), among);
}

SLOWPATH_STANDS_FOR(MPI_Bcast, void* data, int count, Handle type, int root, Handle among) {
    return pass(target(bcast, count, type, bcast), data, count, type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Gather, const void* send, int send_count, Handle send_type, void* receive,
                    int receive_count, Handle receive_type, int root, Handle among) {
    const bool at = send == MPI_IN_PLACE;
    return pass(target(gather, at ? receive_count : send_count, at ? receive_type : send_type, gather), send,
                send_count, send_type, receive, receive_count, receive_type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Scatter, const void* send, int send_count, Handle send_type, void* receive,
                    int receive_count, Handle receive_type, int root, Handle among) {
    const bool at = receive == MPI_IN_PLACE;
    return pass(target(scatter, at ? send_count : receive_count, at ? send_type : receive_type, scatter),
                send, send_count, send_type, receive, receive_count, receive_type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Reduce, const void* send, void* receive, int count, Handle type, Handle op, int root,
                    Handle among) {
    return pass(target(reduce, count, type, reduce), send, receive, count, type, op, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Reduce_scatter, const void* send, void* receive, const int* counts, Handle type,
                    Handle op, Handle among) {
    return pass(target(reduce_scatter), send, receive, counts, type, op, among);
}

// Between all ranks, with one length.
#define STANDS_FOR_EXCHANGE(Name, name, Count, other)                                                       \
    SLOWPATH_STANDS_FOR(MPI_##Name, const void* send, Count send_count, Handle send_type, void* receive,    \
                        Count receive_count, Handle receive_type, Handle among) {                           \
        return pass(target(name, receive_count, receive_type, other), send, send_count, send_type, receive, \
                    receive_count, receive_type, among);                                                    \
    }
STANDS_FOR_EXCHANGE(Allgather, allgather, int, allgather)
STANDS_FOR_EXCHANGE(Alltoall, alltoall, int, alltoall)

// Reductions to all ranks, each with one length.
#define STANDS_FOR_REDUCTION(Name, name, Count, other)                                                    \
    SLOWPATH_STANDS_FOR(MPI_##Name, const void* send, void* receive, Count count, Handle type, Handle op, \
                        Handle among) {                                                                   \
        return pass(target(name, count, type, other), send, receive, count, type, op, among);             \
    }
STANDS_FOR_REDUCTION(Allreduce, allreduce, int, allreduce)
STANDS_FOR_REDUCTION(Reduce_scatter_block, reduce_scatter_block, int, reduce_scatter_block)
STANDS_FOR_REDUCTION(Scan, scan, int, scan)
STANDS_FOR_REDUCTION(Exscan, exscan, int, exscan)

#if MPI_VERSION >= 4

STANDS_FOR_EXCHANGE(Allgather_c, allgather_c, MPI_Count, allgather)
STANDS_FOR_EXCHANGE(Alltoall_c, alltoall_c, MPI_Count, alltoall)
STANDS_FOR_REDUCTION(Allreduce_c, allreduce_c, MPI_Count, allreduce)
STANDS_FOR_REDUCTION(Reduce_scatter_block_c, reduce_scatter_block_c, MPI_Count, reduce_scatter_block)
STANDS_FOR_REDUCTION(Scan_c, scan_c, MPI_Count, scan)
STANDS_FOR_REDUCTION(Exscan_c, exscan_c, MPI_Count, exscan)

SLOWPATH_STANDS_FOR(MPI_Bcast_c, void* data, MPI_Count count, Handle type, int root, Handle among) {
    return pass(target(bcast_c, count, type, bcast), data, count, type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Gather_c, const void* send, MPI_Count send_count, Handle send_type, void* receive,
                    MPI_Count receive_count, Handle receive_type, int root, Handle among) {
    return pass(target(gather_c, send == MPI_IN_PLACE ? receive_count : send_count,
                       send == MPI_IN_PLACE ? receive_type : send_type, gather),
                send, send_count, send_type, receive, receive_count, receive_type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Scatter_c, const void* send, MPI_Count send_count, Handle send_type, void* receive,
                    MPI_Count receive_count, Handle receive_type, int root, Handle among) {
    return pass(target(scatter_c, receive == MPI_IN_PLACE ? send_count : receive_count,
                       receive == MPI_IN_PLACE ? send_type : receive_type, scatter),
                send, send_count, send_type, receive, receive_count, receive_type, root, among);
}

SLOWPATH_STANDS_FOR(MPI_Reduce_c, const void* send, void* receive, MPI_Count count, Handle type, Handle op,
                    int root, Handle among) {
    return pass(target(reduce_c, count, type, reduce), send, receive, count, type, op, root, among);
}

#endif
