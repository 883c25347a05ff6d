// SPDX-License-Identifier: Apache-2.0
/// A barrier of our own: a library's MPI_Barrier releases its ranks with a bias that differs between
/// libraries.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace slowpath::mpi {

/// Dissemination barrier (Hensgen, Finkel, Manber 1988, doi 10.1007/BF01379320) over some ranks of a
/// communicator.
class Barrier {
  public:
    /// @param ranks The same list on every rank in it, without repeats.  A rank outside it must not call
    /// wait().
    Barrier(MPI_Comm communicator, std::vector<int> ranks);
    void wait() const;
    /// The same with numbers in its messages.  @param highest In: this rank's. Out: element by element the
    /// largest of all ranks. The same length on every rank, at most `most_numbers`.
    void wait(std::span<std::int64_t> highest) const;

    static constexpr std::size_t most_numbers = 4;

  private:
    struct Round {
        int to;
        int from;
    };
    MPI_Comm communicator_;
    std::vector<Round> rounds_;
};

}  // namespace slowpath::mpi
