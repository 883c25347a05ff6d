// SPDX-License-Identifier: Apache-2.0
/// MPI from MPI_Init to MPI_Finalize, and a communicator for what is not measured.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/first_peers.hpp"
#include "mpi/init_times.hpp"
#include "mpi/thread_level.hpp"

namespace slowpath::mpi {

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

}  // namespace slowpath::mpi
