// SPDX-License-Identifier: Apache-2.0
#include "put/info.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace slowpath::put {
namespace {

// Standard keys: MPI-4.1 sections 12.2.1 and 12.2.2.  The others are named in the libraries' sources:
// MPICH 5.0 src/mpid/ch4/src/mpidig_win.c, Open MPI 5.0 ompi/mca/osc/sm and ompi/mca/osc/rdma.
constexpr std::array table{
    WindowInfo{"default", "", "", "every library", "no info object"},
    WindowInfo{"latency", "perf_preference", "lat", "MPICH 5.0", "finish each put at once, put off nothing"},
    WindowInfo{"message_rate", "perf_preference", "mr", "MPICH 5.0",
               "put the completion off to the synchronisation"},
    WindowInfo{"no_locks", "no_locks", "true", "the standard", "the window is never locked"},
    WindowInfo{"same_size", "same_size", "true", "the standard", "all ranks give the same length"},
    WindowInfo{"same_disp_unit", "same_disp_unit", "true", "the standard", "all ranks give the same unit"},
    WindowInfo{"accumulate_none", "accumulate_ordering", "none", "the standard", "accumulates need no order"},
    WindowInfo{"accumulate_same_op", "accumulate_ops", "same_op", "the standard",
               "accumulates to an address at a time all use the same operation"},
    WindowInfo{"noncontiguous", "alloc_shared_noncontig", "true", "the standard",
               "the ranks' parts may lie apart, each on its own pages"},
    WindowInfo{"aligned", "mpi_minimum_memory_alignment", "4096", "the standard",
               "memory from MPI begins on a page"},
    WindowInfo{"no_shared_memory", "alloc_shm", "false", "MPICH 4.0", "no memory that both ranks reach"},
    WindowInfo{"no_shared_accumulate", "disable_shm_accumulate", "true", "MPICH 4.0, Intel MPI",
               "accumulates do not use memory that both ranks reach"},
    WindowInfo{"single_intrinsic", "acc_single_intrinsic", "true", "Open MPI 4.0",
               "accumulates have one element of a predefined datatype"},
    WindowInfo{"blocking_fence", "blocking_fence", "true", "Open MPI 4.0", "a fence sleeps where it waits"},
};

}  // namespace

std::span<const WindowInfo> window_infos() {
    return table;
}

const WindowInfo& find_window_info(std::string_view name) {
    for (const WindowInfo& info : table)
        if (info.name == name) return info;
    throw std::logic_error("no window info " + std::string(name));
}

}  // namespace slowpath::put
