// SPDX-License-Identifier: Apache-2.0
/// The ranks of a communicator by node, each with a leader, so that what goes to rank 0 is collected in two
/// steps.
#pragma once

#include <mpi.h>

#include <vector>

namespace slowpath::mpi {

/// Kept with the communicator, as an attribute of it (MPI-4.1 section 7.7), and freed with it.
class Nodes {
  public:
    /// Collective at the first call for a communicator, local later.
    static const Nodes& of(MPI_Comm communicator);
    ~Nodes();
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    MPI_Comm node() const { return node_; }
    /// One rank of each node; rank 0 is rank 0 of the communicator.  MPI_COMM_NULL on other ranks.
    MPI_Comm leaders() const { return leaders_; }
    bool leads() const { return leaders_ != MPI_COMM_NULL; }
    /// On a leader: ranks in the communicator of its node's ranks, in order.  Else empty.
    const std::vector<int>& members() const { return members_; }
    /// On rank 0: how many ranks each node has, and all ranks node by node, rank 0 first.  Else empty.
    const std::vector<int>& counts() const { return counts_; }
    const std::vector<int>& ranks() const { return ranks_; }

  private:
    explicit Nodes(MPI_Comm communicator);

    MPI_Comm node_ = MPI_COMM_NULL;
    MPI_Comm leaders_ = MPI_COMM_NULL;
    std::vector<int> members_, counts_, ranks_;
};

}  // namespace slowpath::mpi
