// SPDX-License-Identifier: Apache-2.0
/// The MPI functions that mock-ups are made of. SLOWPATH_PROFILING_NAMES: under their profiling names
/// (MPI-4.1 section 15.2), so that a mock-up in libslowpath-coll's part is not itself replaced.
#pragma once

#include <mpi.h>

#ifdef SLOWPATH_PROFILING_NAMES
#define SLOWPATH_MPI(function) PMPI_##function
#else
#define SLOWPATH_MPI(function) MPI_##function
#endif

/// One step of a mock-up: its error code ends the mock-up.
#define SLOWPATH_STEP(call)                                     \
    do {                                                        \
        const int slowpath_code = (call);                       \
        if (slowpath_code != MPI_SUCCESS) return slowpath_code; \
    } while (false)
