// SPDX-License-Identifier: Apache-2.0
/// The named stretches of a call and of a first use, as the record numbers them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace slowpath::nccl {

/// BlockHeader::part.  src/slowpath/experiments/nccl/experiment.py holds the same numbers.
enum class Part : std::uint64_t {
    whole = 0,
    submit = 1,  ///< inside the library's call
    wait = 2,    ///< from its return to the end of the stream's work
    // Of a first use, one after the other, without a gap.
    load = 3,         ///< the library is opened and its functions are found
    unique_id = 4,    ///< rank 0 makes the id of a communicator; the others wait for it in share_id
    share_id = 5,     ///< MPI_Bcast of the id
    runtime = 9,      ///< the CUDA runtime inside the library starts on every rank; all wait for the last
    init = 6,         ///< ncclCommInitRank; nvshmemx_hostlib_init_attr; MPI: MPI_Comm_dup
    buffers = 10,     ///< a library that needs memory of its own allocates it, and the data is copied there
    one_element = 7,  ///< the first call, with one element from a small buffer of its own
    first_call = 8,   ///< the first call with the message
    // Inside init, as NCCL itself reports them, in steps of 10 ms.
    init_kernels = 16,
    init_alloc = 17,
    init_bootstrap = 18,
    init_allgathers = 19,
    init_topo = 20,
    init_graphs = 21,
    init_connections = 22,
    init_rest = 23,
    init_total = 24,  ///< from NCCL's first clock to its last
};

/// The words of NCCL's line "Init timings", from Part::init_kernels on.
inline constexpr std::array<std::string_view, 8> init_words{
    "kernels", "alloc", "bootstrap", "allgathers", "topo", "graphs", "connections", "rest",
};

}  // namespace slowpath::nccl
