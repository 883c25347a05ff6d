// SPDX-License-Identifier: Apache-2.0
// libslowpath-coll.so, preloaded into every program of a job: the blocking collectives, each by one jump to
// the library's own function, or to its replacement where a table has rows about it.
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "replace/parts.hpp"

#define SLOWPATH_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using slowpath::replace::Parts;

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
    call_count
};

/// In the order of Call.
constexpr std::array<const char*, call_count> names{
    "MPI_Barrier",  "MPI_Bcast",  "MPI_Gather",    "MPI_Scatter",        "MPI_Allgather",
    "MPI_Alltoall", "MPI_Reduce", "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",     "MPI_Exscan",
};

/// Where each goes; null before its first call.
constinit std::array<std::atomic<void*>, call_count> targets{};
constinit std::atomic<const Parts*> parts{nullptr};

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

/// The next definition after this library's, which may be another tool's; else the MPI library's under its
/// profiling name.
void* original(const char* name) {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    char profiled[64];
    std::snprintf(profiled, sizeof profiled, "P%s", name);
    Search search{profiled, nullptr};
    dl_iterate_phdr(search_object, &search);
    if (search.found != nullptr) return search.found;
    std::fprintf(stderr, "slowpath-coll: the MPI library has no %s\n", name);
    std::abort();
}

template <class Function>
Function original_as(const char* name) {
    return reinterpret_cast<Function>(original(name));
}

void* find_target(Call call) {
    void* const found = original(names[call]);
    void* nobody = nullptr;
    targets[call].compare_exchange_strong(nobody, found);
    return found;
}

template <class Function>
Function target(Call call) {
    void* known = targets[call].load(std::memory_order_relaxed);
    if (known == nullptr) [[unlikely]]
        known = find_target(call);
    return reinterpret_cast<Function>(known);
}

/// libslowpath-coll-parts.so from the folder of this library; nullptr, with a line about it: it can't be
/// used.
const Parts* open_parts() {
    char path[4096];
    Dl_info here;
    if (dladdr(reinterpret_cast<void*>(&open_parts), &here) == 0 || here.dli_fname == nullptr) return nullptr;
    const char* const slash = std::strrchr(here.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash - here.dli_fname) + 1;
    std::snprintf(path, sizeof path, "%.*slibslowpath-coll-parts.so", folder, here.dli_fname);
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "slowpath-coll: %s; nothing is replaced\n", dlerror());
        return nullptr;
    }
    const auto get = reinterpret_cast<decltype(&slowpath_coll_parts)>(dlsym(library, "slowpath_coll_parts"));
    const Parts* const found = get == nullptr ? nullptr : get();
    // Bound to another MPI than the program's: compiled for that one.
    void* const own =
        dlsym(RTLD_NEXT, "PMPI_Init") != nullptr ? dlsym(RTLD_NEXT, "PMPI_Init") : original("MPI_Init");
    if (found == nullptr || (found->profiled_init != own)) {
        std::fprintf(stderr,
                     "slowpath-coll: %s is built for another MPI than the program's; nothing is replaced\n",
                     path);
        return nullptr;
    }
    return found;
}

void begin() {
    const char* const table = std::getenv("SLOWPATH_COLL");
    if (table == nullptr || *table == '\0') return;
    const Parts* const found = open_parts();
    if (found == nullptr) return;
    parts.store(found);
    if (!found->begin(table, std::getenv("SLOWPATH_COLL_REPORT"))) return;
    for (std::size_t call = 0; call < call_count; ++call)
        if (void* const replacement = found->replacement(names[call])) targets[call].store(replacement);
}

/// Calls after MPI_Finalize are the library's to refuse.
void end() {
    const Parts* const used = parts.exchange(nullptr);
    if (used == nullptr) return;
    used->report();
    for (std::size_t call = 0; call < call_count; ++call) targets[call].store(original(names[call]));
}

}  // namespace

SLOWPATH_EXPORT int MPI_Init(int* argc, char*** argv) {
    const int code = original_as<decltype(&MPI_Init)>("MPI_Init")(argc, argv);
    if (code == MPI_SUCCESS) begin();
    return code;
}

SLOWPATH_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int code =
        original_as<decltype(&MPI_Init_thread)>("MPI_Init_thread")(argc, argv, required, provided);
    if (code == MPI_SUCCESS) begin();
    return code;
}

SLOWPATH_EXPORT int MPI_Finalize() {
    end();
    return original_as<decltype(&MPI_Finalize)>("MPI_Finalize")();
}

SLOWPATH_EXPORT int MPI_Barrier(MPI_Comm among) {
    return target<decltype(&MPI_Barrier)>(barrier)(among);
}

SLOWPATH_EXPORT int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm among) {
    return target<decltype(&MPI_Bcast)>(bcast)(data, count, type, root, among);
}

SLOWPATH_EXPORT int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                               int receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return target<decltype(&MPI_Gather)>(gather)(send, send_count, send_type, receive, receive_count,
                                                 receive_type, root, among);
}

SLOWPATH_EXPORT int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm among) {
    return target<decltype(&MPI_Scatter)>(scatter)(send, send_count, send_type, receive, receive_count,
                                                   receive_type, root, among);
}

SLOWPATH_EXPORT int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                                  int receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    return target<decltype(&MPI_Allgather)>(allgather)(send, send_count, send_type, receive, receive_count,
                                                       receive_type, among);
}

SLOWPATH_EXPORT int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                                 int receive_count, MPI_Datatype receive_type, MPI_Comm among) {
    return target<decltype(&MPI_Alltoall)>(alltoall)(send, send_count, send_type, receive, receive_count,
                                                     receive_type, among);
}

SLOWPATH_EXPORT int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                               int root, MPI_Comm among) {
    return target<decltype(&MPI_Reduce)>(reduce)(send, receive, count, type, op, root, among);
}

SLOWPATH_EXPORT int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                                  MPI_Comm among) {
    return target<decltype(&MPI_Allreduce)>(allreduce)(send, receive, count, type, op, among);
}

SLOWPATH_EXPORT int MPI_Reduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type,
                                       MPI_Op op, MPI_Comm among) {
    return target<decltype(&MPI_Reduce_scatter)>(reduce_scatter)(send, receive, counts, type, op, among);
}

SLOWPATH_EXPORT int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type,
                                             MPI_Op op, MPI_Comm among) {
    return target<decltype(&MPI_Reduce_scatter_block)>(reduce_scatter_block)(send, receive, count, type, op,
                                                                             among);
}

SLOWPATH_EXPORT int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm among) {
    return target<decltype(&MPI_Scan)>(scan)(send, receive, count, type, op, among);
}

SLOWPATH_EXPORT int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm among) {
    return target<decltype(&MPI_Exscan)>(exscan)(send, receive, count, type, op, among);
}
