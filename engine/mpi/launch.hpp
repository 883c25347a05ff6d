// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/calibration.hpp"
#include "core/node_ranks.hpp"

namespace slowpath::mpi {

// Who runs where, and whether the launcher and the MPI library understood each other.

std::string host_name();

/// Where this rank runs, and its clock.
RankValues rank_values(const Calibration& calibration);

/// This process's rank as the launcher set it in the environment, known before MPI_Init; nullopt without
/// launcher.
std::optional<int> rank_from_environment();

/// The number of processes that the launcher says it started; nullopt without launcher.
std::optional<int> size_from_environment();

// When a process passed the stations of its start: CLOCK_MONOTONIC, ns.

struct InitTimes {
    /// Processor time that the process had taken when its shared libraries were mapped and relocated.  The
    /// elapsed time is known in steps of 10 ms alone (/proc/self/stat).
    std::int64_t load_processor_ns = 0;
    std::optional<std::int64_t> born_ns{};  ///< in steps of the kernel's clock tick, rounded down
    std::int64_t loaded_ns = 0;             ///< before the constructors of all libraries
    std::int64_t entered_ns = 0;            ///< MPI_Init or MPI_Init_thread is called
    std::int64_t initialised_ns = 0;
    std::int64_t duplicate_begin_ns = 0;  ///< the first MPI_Comm_dup
    std::int64_t duplicate_end_ns = 0;    ///< and here MPI_Comm_split_type begins
    std::int64_t split_end_ns = 0;
};

/// What is known before MPI is called: the first three.
InitTimes process_times();

// With which support for threads MPI starts (MPI-4.1 section 11.6.2).

/// Names: single, funneled, serialized, multiple.
struct ThreadLevels {
    std::optional<std::string> asked;  ///< nullopt: MPI_Init, which asks for none
    std::string provided;
};

/// Starts MPI, with the level that SLOWPATH_THREAD_LEVEL names if it is set.
/// The engine itself calls MPI from one thread, but for cells of p2p with threads; what a level costs is the
/// library's own.
/// @throws UsageError: SLOWPATH_THREAD_LEVEL names no level.  @throws mpi::Error.
ThreadLevels initialise();

/// One sentence if less is provided than was asked for.
std::optional<std::string> too_low(const ThreadLevels& levels);

// A process that a running job starts by MPI_Comm_spawn: this same program, which does nothing.

/// The only word on the command line of such a process.
inline constexpr const char* spawned_word = "spawned";

/// The file of this program.  @throws EnvironmentFailure: /proc does not say.
std::string own_program();

/// What such a process does: start MPI, disconnect from those that spawned it, end MPI.
/// @return Whether somebody spawned it.
bool be_spawned();

// A process's first messages to each of its peers, before anything else is sent: connections are made once.

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
