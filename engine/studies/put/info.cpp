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
    WindowInfo{"default", "", ""},
    WindowInfo{"latency", "perf_preference", "lat"},
    WindowInfo{"message_rate", "perf_preference", "mr"},
    WindowInfo{"no_locks", "no_locks", "true"},
    WindowInfo{"same_size", "same_size", "true"},
    WindowInfo{"same_disp_unit", "same_disp_unit", "true"},
    WindowInfo{"accumulate_none", "accumulate_ordering", "none"},
    WindowInfo{"accumulate_same_op", "accumulate_ops", "same_op"},
    WindowInfo{"noncontiguous", "alloc_shared_noncontig", "true"},
    WindowInfo{"aligned", "mpi_minimum_memory_alignment", "4096"},
    WindowInfo{"no_shared_memory", "alloc_shm", "false"},
    WindowInfo{"no_shared_accumulate", "disable_shm_accumulate", "true"},
    WindowInfo{"single_intrinsic", "acc_single_intrinsic", "true"},
    WindowInfo{"blocking_fence", "blocking_fence", "true"},
};

}  // namespace

const WindowInfo& find_window_info(std::string_view name) {
    for (const WindowInfo& info : table)
        if (info.name == name) return info;
    throw std::logic_error("no window info " + std::string(name));
}

}  // namespace slowpath::put
