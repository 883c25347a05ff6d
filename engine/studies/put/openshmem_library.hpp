// SPDX-License-Identifier: Apache-2.0
/// The OpenSHMEM library that belongs to the MPI in use: found next to it, loaded at run time, started within
/// the MPI job and ended with it.
///
/// Open MPI only, whose OpenSHMEM shares its processes with MPI.  The program has to be linked with
/// `--export-dynamic-symbol=_end` (docs/results/put.md says why): without it there is no OpenSHMEM,
/// and the reason.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace slowpath::put {

/// Entry points, as OpenSHMEM 1.4 has them (sections 9.1, 9.3, 9.5 and 9.11).
struct OpenShmemFunctions {
    void (*init)();
    void (*finalize)();
    void* (*align)(std::size_t alignment, std::size_t bytes);
    void (*free)(void* address);
    void* (*ptr)(const void* address, int pe);
    void (*double_put)(double* target, const double* origin, std::size_t count, int pe);
    void (*double_put_nbi)(double* target, const double* origin, std::size_t count, int pe);
    void (*double_p)(double* target, double value, int pe);
    void (*quiet)();
    void (*barrier_all)();
};

/// Why nothing can be put through OpenSHMEM in this job; nullopt: it can.  Loads the library, and starts
/// nothing. Of this rank only: all ranks have to agree before one starts it.
std::optional<std::string> openshmem_unavailable();

/// The library, started.  Once for each process: it can't be started again, and ends within MPI_Finalize.
/// Collective over MPI_COMM_WORLD the first time; openshmem_unavailable() must have returned nothing on every
/// rank.
const OpenShmemFunctions& started_openshmem();

}  // namespace slowpath::put
