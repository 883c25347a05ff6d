// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>

#include "mpi/launch.hpp"

namespace slowpath::mpi {

// Every MPI call of the shell goes through check(): a failing one throws, main reports it and aborts the
// job.

class Error : public std::runtime_error {
  public:
    Error(const char* call, int code, const std::source_location& where);

    const std::source_location& where() const noexcept { return where_; }

  private:
    std::source_location where_;
};

/// @param code What an MPI function returned.  @param call Its name.
/// @throws Error unless code is MPI_SUCCESS.
inline void check(int code, const char* call,
                  const std::source_location& where = std::source_location::current()) {
    if (code != MPI_SUCCESS) [[unlikely]]
        throw Error(call, code, where);
}

// MPI from MPI_Init to MPI_Finalize, and a communicator for what is not measured.

/// All ranks make one, once.  Errors return codes from here on (MPI-4.1 section 9.3).
class Session {
  public:
    /// Begins with MPI_Init_thread if the environment asks for a thread level, else with MPI_Init.
    /// @throws UsageError: an unknown level.  @throws mpi::Error.
    Session();
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    const ThreadLevels& thread_levels() const { return thread_levels_; }
    /// Position of this rank among those of its node, 0-based.
    int node_rank() const { return node_rank_; }
    /// A duplicate of MPI_COMM_WORLD: barriers, decisions and gathering never match measured messages.
    MPI_Comm control() const { return control_; }
    /// When this process began, entered MPI, and made its first communicators.
    const InitTimes& times() const { return times_; }
    /// This rank's first messages, where the environment asks for them before anything else is sent.
    const std::optional<FirstPeers>& first_peers() const { return first_peers_; }
    /// Collective; frees and finalises.  Not called when an error is on its way: the destructor does nothing
    /// then.
    void finish();

  private:
    int rank_ = 0;
    int size_ = 0;
    int node_rank_ = 0;
    InitTimes times_;
    ThreadLevels thread_levels_;
    std::optional<FirstPeers> first_peers_;
    MPI_Comm control_ = MPI_COMM_NULL;
};

// What the MPI library says about itself, and memory from it.

/// First line of MPI_Get_library_version, e.g. "MPICH Version: 5.0.2".
std::string library_version();

/// The MPI standard that the library implements, e.g. "4.1".
std::string standard_version();

/// MPI_Alloc_mem.  @throws Error.
void* allocate_memory(std::size_t bytes);
/// MPI_Free_mem.  @throws Error.
void free_memory(void* memory);

}  // namespace slowpath::mpi
