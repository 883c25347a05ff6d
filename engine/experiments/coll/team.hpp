// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <vector>

#include "coll/parameters.hpp"
#include "coll/reference.hpp"
#include "mpi/shared_release.hpp"

namespace slowpath::coll {

// Communicators that a cell calls on.

/// The ranks that call, as the parameters communicator and members choose them; and communicators of them.
class Team {
  public:
    /// Collective over MPI_COMM_WORLD.
    explicit Team(const Config& config);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    /// Whether this rank calls.
    bool calls() const { return base_ != MPI_COMM_NULL; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Which of the communicators that the cell's ranks are divided into this rank is in.
    int part() const { return part_; }
    Place place() const;

    /// Collective: one more communicator, fresh but for MPI_COMM_WORLD itself, with neighbours where the
    /// collective needs them.  It is kept as long as this.  @return An MPI error code.
    int make(MPI_Comm& made);
    /// Collective: a fresh one, even where the cell calls on MPI_COMM_WORLD.
    int make_fresh(MPI_Comm& made);

  private:
    Config config_;
    MPI_Comm base_ = MPI_COMM_NULL;
    bool base_is_ours_ = false;
    int rank_ = 0;
    int size_ = 0;
    int part_ = 0;
    std::vector<MPI_Comm> kept_;
};

// Where the ranks that call come together before each call, without a message.

struct Meeting {
    MPI_Comm callers;  ///< the ranks that call, for what is agreed between timed calls
    mpi::SharedRelease release;
};

/// Collective over `control`, whose first `members` ranks call.  It is kept until the process ends: making
/// one takes longer than a cell of short calls.  @return nullptr on ranks that do not call.
Meeting* meeting_of(MPI_Comm control, int members);

// Ranks that do not call wait without a core: a wait in MPI would take it from those that are measured.

/// The ranks from `members` on sleep until rank 0 calls wake(); they look every few milliseconds.
void sleep_outside(MPI_Comm control);
/// Called by rank 0.
void wake_outside(MPI_Comm control, int members);

}  // namespace slowpath::coll
