// SPDX-License-Identifier: Apache-2.0
/// Ranks agree before any of them changes course; outside timed regions only.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slowpath::mpi {

/// Collective.  @return On every rank the text of the lowest rank that has one; nullopt if none has.
std::optional<std::string> first_text(MPI_Comm communicator, const std::optional<std::string>& mine);

/// Collective.  @return On every rank the text of rank 0.
std::string text_of_root(MPI_Comm communicator, std::string text);

/// Collective.  Element by element over all ranks, the result on every rank.
std::vector<std::int64_t> reduce(MPI_Comm communicator, std::span<const std::int64_t> mine, MPI_Op operation);

/// Called by the ranks listed, all with the same list: the first one's number goes to the others.
std::int64_t decision_of_first(MPI_Comm communicator, std::span<const int> ranks, std::int64_t mine);

}  // namespace slowpath::mpi
