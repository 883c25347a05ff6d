// SPDX-License-Identifier: Apache-2.0
/// Who runs where, and whether the launcher and the MPI library understood each other.
#pragma once

#include <optional>
#include <string>

#include "core/calibration.hpp"
#include "core/node_ranks.hpp"

namespace slowpath::mpi {

std::string host_name();

/// Where this rank runs, and its clock.
RankValues rank_values(const Calibration& calibration);

/// This process's rank as the launcher set it in the environment, known before MPI_Init; nullopt without
/// launcher.
std::optional<int> rank_from_environment();

/// The number of processes that the launcher says it started; nullopt without launcher.
std::optional<int> size_from_environment();

/// This process's position among those of its node, as the launcher says it; nullopt where it does not.
std::optional<int> node_rank_from_environment();

}  // namespace slowpath::mpi
