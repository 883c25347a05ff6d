// SPDX-License-Identifier: Apache-2.0
/// A process's first messages to each of its peers, before anything else is sent: connections are made once.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slowpath::mpi {

struct Contact {
    int peer;
    std::int64_t begin_ns;
    std::int64_t end_ns;
};

struct FirstPeers {
    std::string order;
    std::vector<Contact> contacts;  ///< in their order
};

/// "ascending": every rank meets rank 0 first, then 1, and so on, so that a chain of ranks waits for one
/// another. "xor": rank r meets r xor 1, r xor 2, ...: in each step all ranks meet in pairs.
std::vector<int> peers_in_order(const std::string& order, int rank, int size);

/// One exchange of 8 bytes with each peer.
/// @throws mpi::Error, and where the bytes are not the peer's.
std::vector<Contact> meet_in_order(MPI_Comm communicator, const std::string& order);

/// Collective, right after MPI_Init: meets all peers in the order that SLOWPATH_FIRST_PEERS names; nullopt:
/// it names none.  @throws UsageError: an unknown order.
std::optional<FirstPeers> meet_peers(MPI_Comm world);

}  // namespace slowpath::mpi
