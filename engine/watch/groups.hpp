// SPDX-License-Identifier: Apache-2.0
/// World ranks of the members of a group, asked of MPI without communication.
#pragma once

#include <cstdint>
#include <span>

#include "watch/call.hpp"

namespace slowpath::watch {

/// The group of all: of MPI_COMM_WORLD, or of a live session's mpi://WORLD.
enum class World : std::uint8_t { of_communicator, of_session };
/// False: there is none.
bool begin_world_group(World world);
/// A session lives from one to the other; ends: before it is finalized.
void session_begun(Word session);
void session_ends(Word session);
std::int32_t world_group_rank();
std::int32_t world_group_size();

/// Members of a communicator's group, valid until the next call; empty: not known.
/// @param is_remote The other side's group of an intercommunicator.
std::span<const std::int32_t> members_of(Word communicator, bool is_remote);
std::span<const std::int32_t> members_of_group(Word group);

int communicator_int(const char* name, Word communicator);

}  // namespace slowpath::watch
