// SPDX-License-Identifier: Apache-2.0
/// When a process passed the stations of its start: CLOCK_MONOTONIC, ns.
#pragma once

#include <cstdint>
#include <optional>

namespace slowpath::mpi {

struct InitTimes {
    /// Processor time that the process had taken when its shared libraries were mapped and relocated.  The
    /// elapsed time is known in steps of 10 ms alone (/proc/self/stat).
    std::int64_t load_processor_ns = 0;
    std::optional<std::int64_t> born_ns{};  ///< in steps of the kernel's clock tick, rounded down
    std::int64_t loaded_ns = 0;             ///< before the constructors of all libraries
    std::int64_t entered_ns = 0;            ///< MPI_Init or MPI_Init_thread is called
    std::int64_t initialised_ns = 0;
    std::int64_t duplicate_begin_ns = 0;  ///< the first MPI_Comm_dup
    std::int64_t duplicate_end_ns = 0;    ///< and here MPI_Comm_split_type begins
    std::int64_t split_end_ns = 0;
};

/// What is known before MPI is called: the first three.
InitTimes process_times();

}  // namespace slowpath::mpi
