// SPDX-License-Identifier: Apache-2.0
/// The constants of the three interfaces, as their mpi.h have them; tests hold them against those.
#include "watch/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "watch/loader.hpp"
#include "watch/originals.hpp"

namespace slowpath::watch {
namespace {

constexpr Word all_ones = ~Word{0};

/// MPICH since 3.1 and all that keeps to its ABI: Intel MPI, Cray MPICH, MVAPICH, ParaStation.
Library mpich() {
    Library it;
    it.interface = Interface::mpich;
    it.comm_world = 0x44000000, it.comm_self = 0x44000001, it.comm_null = 0x04000000;
    it.request_null = it.message_null = 0x2c000000, it.datatype_null = 0x0c000000;
    it.status_ignore = it.statuses_ignore = 1, it.in_place = all_ones, it.bottom = 0, it.no_op = 0x5800000e;
    it.any_source = -2, it.any_tag = -1, it.proc_null = -1, it.root = -3, it.undefined = -32766;
    it.replace = 0x5800000d, it.lock_exclusive = 234;
    it.status_bytes = 20, it.source_offset = 8, it.tag_offset = 12, it.error_offset = 16;
    return it;
}

/// MPI 5.0, chapter 20.
Library abi() {
    Library it;
    it.interface = Interface::abi;
    it.is_handle_pointer = true;
    it.comm_world = 0x101, it.comm_self = 0x102, it.comm_null = 0x100;
    it.request_null = 0x180, it.message_null = 0x128, it.datatype_null = 0x200;
    it.status_ignore = it.statuses_ignore = 0, it.in_place = 1, it.bottom = 0, it.no_op = 0x3d;
    it.any_source = -1, it.any_tag = -2, it.proc_null = -3, it.root = -4, it.undefined = -32766;
    it.replace = 0x3c, it.lock_exclusive = 301;
    it.status_bytes = 32, it.source_offset = 0, it.tag_offset = 4, it.error_offset = 8;
    return it;
}

/// A predefined handle is the address of a global. The program's own copy of it counts, where it has one (a
/// copy relocation): that is what the library uses, too.
Word global(const char* name) {
    void* found = real_dlsym()(RTLD_DEFAULT, name);
    if (found == nullptr) found = real_dlsym()(library_handle(), name);
    return reinterpret_cast<Word>(found);
}

/// Open MPI 4 and 5.
Library openmpi() {
    Library it;
    it.interface = Interface::openmpi;
    it.is_handle_pointer = true;
    it.comm_world = global("ompi_mpi_comm_world"), it.comm_self = global("ompi_mpi_comm_self");
    it.comm_null = global("ompi_mpi_comm_null"), it.request_null = global("ompi_request_null");
    it.message_null = global("ompi_message_null"), it.datatype_null = global("ompi_mpi_datatype_null");
    it.status_ignore = it.statuses_ignore = 0, it.in_place = 1, it.bottom = 0;
    it.no_op = global("ompi_mpi_op_no_op"), it.replace = global("ompi_mpi_op_replace");
    it.lock_exclusive = 1;
    it.any_source = -1, it.any_tag = -1, it.proc_null = -2, it.root = -4, it.undefined = -32766;
    it.status_bytes = 24, it.source_offset = 0, it.tag_offset = 4, it.error_offset = 8;
    return it;
}

Library find_library() {
    void* const handle = library_handle();
    const link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
    const char* const slash = std::strrchr(map->l_name, '/');
    const char* const file = slash == nullptr ? map->l_name : slash + 1;
    // By its name first: what lies under it may be another interface's library. MPICH's mpi.h needs
    // MPIR_Dup_fn, so each library of its ABI has it; a layer with an interface of its own (MPItrampoline)
    // has neither.
    Library found;
    if (std::strncmp(file, "libmpi_abi.", 11) == 0)
        found = abi();
    else if (real_dlsym()(handle, "ompi_mpi_comm_world") != nullptr)
        found = openmpi();
    else if (real_dlsym()(handle, "MPIR_Dup_fn") != nullptr)
        found = mpich();
    std::strncpy(found.path, map->l_name, sizeof found.path - 1);
    return found;
}

constinit std::atomic<int> state{0};  // 0: not looked for, 1: somebody looks, 2: ready
Library ready;

}  // namespace

const Library& look_for_library() {
    static const Library none;
    if (library_handle() == nullptr) return none;
    int expected = 0;
    if (state.compare_exchange_strong(expected, 1)) {
        ready = find_library();
        watched_library.store(&ready, std::memory_order_release);
        state.store(2, std::memory_order_release);
    }
    while (state.load(std::memory_order_acquire) != 2) {
    }
    return ready;
}

}  // namespace slowpath::watch
