// SPDX-License-Identifier: Apache-2.0
/// Communicators by their handles: rows of the record, world ranks of their members, and counts of what is
/// collective on them.
///
/// World ranks of the members of a group, asked of MPI without communication.
#pragma once

#include <cstdint>
#include <span>

#include "watch/call.hpp"
#include "watch/plan.hpp"

namespace slowpath::watch {

struct CommunicatorState {
    std::uint32_t collectives = 0;    ///< begun on it
    std::uint32_t children = 0;       ///< communicators made from all of it
    std::int32_t targets = 0;         ///< ranks that messages go to: between groups, those of the other one
    std::int32_t neighbours_out = 0;  ///< length of arrays by neighbour
    std::int32_t neighbours_in = 0;
    std::uint32_t missing_neighbours = 0;  ///< a bit for each of a Cartesian grid that is MPI_PROC_NULL
    std::uint64_t members_hash = 0;        ///< 0: not known

    bool lacks_neighbour(std::int32_t at) const { return at < 32 && (missing_neighbours >> at & 1) != 0; }
};

/// Of the world that was not spawned by another.
inline constexpr std::uint64_t world_identity = 1;

/// Row of a handle; one that nobody saw being made gets a row without identity. layout::no_row: no room.
std::uint16_t communicator_row(Word handle);
/// The same without a question to MPI, for a handle that may be none: layout::no_row where it is not known.
std::uint16_t known_communicator_row(Word handle);

/// The world rank of a rank of a communicator, or as layout::Peer has it.
std::int32_t world_rank_of(std::uint16_t row, std::int32_t rank);

/// Of a row that is not layout::no_row.
CommunicatorState& communicator_state(std::uint16_t row);
/// The number of the next collective on it; layout::not_known for layout::no_row.
std::uint32_t number_collective(std::uint16_t row);

/// MPI_COMM_WORLD and MPI_COMM_SELF, or the ranks of a session's mpi://WORLD.
/// @param identity Of the world; 0: it has none that is its own.
void begin_communicators(std::uint64_t identity);
void begin_session_communicators();

/// A call has made one. @param parent Row; layout::no_row: none.
void communicator_made(Word handle, Call call, const Word* arguments);
void communicator_freed(Word handle);
void communicator_named(Word handle, const char* name);

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
int size_of_group(Word group);

}  // namespace slowpath::watch
