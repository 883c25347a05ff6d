// SPDX-License-Identifier: Apache-2.0
/// Ranks set off together without a message between them: a first use that a barrier's messages would make is
/// still a first use.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "mpi/together.hpp"

namespace slowpath::mpi {

/// When a rank was to set off, and by how much it was late; CLOCK_MONOTONIC of its node.
struct Release {
    std::int64_t deadline_ns;
    std::int64_t late_ns;  ///< 0: it was there in time
    bool enough;           ///< a leader has had enough: the same on all ranks
};

/// A meeting point of each node's ranks in shared memory.  Between nodes the leaders alone exchange messages,
/// which they have done before, when it was made.  Nodes of one clock (containers of one machine) have one
/// deadline, others one each.
class SharedRelease {
  public:
    /// Collective over the communicator, which must outlive it.  Where the system gives no shared memory
    /// ranks meet by messages, and `by_messages` says so.
    explicit SharedRelease(MPI_Comm communicator);
    ~SharedRelease();
    SharedRelease(const SharedRelease&) = delete;
    SharedRelease& operator=(const SharedRelease&) = delete;

    /// All ranks call it.  Returns at the deadline that the last one to come has set for its node, or later.
    /// @param enough Whether this rank wants no more calls; that of each node's first rank counts.
    Release wait(bool enough = false);
    bool by_messages() const { return region_ == nullptr; }
    /// Whether all ranks read the same CLOCK_MONOTONIC.
    bool one_clock() const { return one_clock_; }

  private:
    struct Region;
    void open(MPI_Comm node);
    Release meet_by_messages(bool enough) const;
    /// On a leader, when all of its node are there: sets deadline and word, and releases them.
    void release(bool enough);

    Region* region_ = nullptr;
    MPI_Comm leaders_ = MPI_COMM_NULL;
    int members_ = 1;
    int nodes_ = 1;
    bool one_clock_ = true;  ///< who does not lead reads its leader's
    std::uint64_t meetings_ = 0;
    std::int64_t reach_ns_ = 0;  ///< what the leaders' word takes to all of them
    std::optional<Barrier> between_leaders_;
    std::optional<Barrier> between_all_;
};

}  // namespace slowpath::mpi
