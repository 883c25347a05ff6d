// SPDX-License-Identifier: Apache-2.0
/// The two ranks of a cell, as a communicator of their own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace slowpath::put {

/// Rank 0 of the job is the origin, the last one the target.  In a job of two the communicator is congruent
/// with MPI_COMM_WORLD, which some libraries have a shorter path for (MPICH:
/// MPIDI_WINATTR_DIRECT_INTRA_COMM).
class Pair {
  public:
    /// Collective over `communicator`.
    explicit Pair(MPI_Comm communicator);
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    bool takes_part() const { return own_ != MPI_COMM_NULL; }
    bool is_origin() const { return rank_ == origin; }
    int rank() const { return rank_; }  ///< in this communicator
    bool one_node() const { return one_node_; }
    MPI_Comm communicator() const { return own_; }

    /// The text of the origin or else of the target, on both.
    std::optional<std::string> first_text(const std::optional<std::string>& mine) const;
    /// The origin's number, on both.  The target waits in a blocking receive, and so makes progress.
    std::int64_t of_origin(std::int64_t mine) const;
    /// Target: the origin's number, asked for by MPI_Test, with `compute` before each one.
    std::int64_t of_origin_between(const std::function<void()>& compute) const;
    void barrier() const;
    /// Collective; not called when an error is on its way.
    void release();

    static constexpr int origin = 0, target = 1;

  private:
    MPI_Comm own_ = MPI_COMM_NULL;
    int rank_ = -1;
    bool one_node_ = false;
};

}  // namespace slowpath::put
