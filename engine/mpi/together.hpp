// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slowpath::mpi {

// Ranks agree before any of them changes course; outside timed regions only.

/// Collective.  @return On every rank the text of the lowest rank that has one; nullopt if none has.
std::optional<std::string> first_text(MPI_Comm communicator, const std::optional<std::string>& mine);

/// Collective.  @return On every rank the text of rank 0.
std::string text_of_root(MPI_Comm communicator, std::string text);

/// Collective.  Element by element over all ranks, the result on every rank.
std::vector<std::int64_t> reduce(MPI_Comm communicator, std::span<const std::int64_t> mine, MPI_Op operation);

/// Called by the ranks listed, all with the same list: the first one's number goes to the others.
std::int64_t decision_of_first(MPI_Comm communicator, std::span<const int> ranks, std::int64_t mine);

// A barrier of our own: a library's MPI_Barrier releases its ranks with a bias that differs between
// libraries.

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

// Byte strings of any length to rank 0.

/// Collective.  Rank 0 gets every rank's bytes node by node, its own first, one rank at a time, so that it
/// holds one rank's at most.  Node leaders collect and pass on; ranks with nothing to say cost rank 0 no
/// message.  @param take Called on rank 0 only.
void gather(MPI_Comm communicator, std::span<const std::byte> mine,
            const std::function<void(int rank, std::span<const std::byte>)>& take);

// The ranks of a communicator by node, each with a leader, so that what goes to rank 0 is collected in two
// steps.

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

// Whether ranks read one CLOCK_MONOTONIC: those of one node, and those of containers of one machine.

/// Collective.  True where all ranks name the same boot of the same kernel and the same time namespace
/// (time_namespaces(7)), and no message arrives before it was sent: a copied virtual machine has the boot's
/// name, too.
bool one_clock(MPI_Comm communicator);

}  // namespace slowpath::mpi
