// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::first_use {

// The experiment `first_use`: what the first use of a part of MPI costs, and the later ones.

extern const Experiment experiment;

// What a cell of the experiment first_use is given.

enum class Pattern {
    init,           ///< what the process did before and in MPI_Init
    peer,           ///< its first messages to each peer
    communicator,   ///< communicators made one after the other, all kept
    collective,     ///< first and later calls of one collective on one communicator
    window,         ///< MPI_Win_allocate or MPI_Win_create
    shared_window,  ///< MPI_Win_allocate_shared
    spawn,          ///< MPI_Comm_spawn
    call,           ///< any other call of MPI, by its name
};

enum class Communicator { world, duplicate };
enum class MadeBy { duplicate, split, create, intercommunicator, merge };
enum class WindowKind { allocate, create, allocate_shared, dynamic };
/// Who provides a window's memory and touches it: the library's call, or the same without MPI.
enum class Memory { library, program };
enum class Source { named, any };
enum class Datatype { contiguous, vector };
enum class Root { first, last };
enum class Op { sum, user };

struct Config {
    Pattern pattern;
    std::string order;  ///< of peers, as SLOWPATH_FIRST_PEERS has it
    Communicator communicator;
    MadeBy made_by;
    WindowKind window;
    Memory memory;
    std::string window_info;  ///< a key, or "none"
    std::string call;         ///< by its name in calls.cpp
    std::string request;      ///< the call that made what it starts, or "none"
    Source source;
    Datatype datatype;
    std::int64_t blocks;
    Root root;
    Op op;
    bool in_place;
    std::int64_t pauses;  ///< calls that a pause precedes
    double idle_s;        ///< such a pause, outside of MPI
    bool after_call;      ///< another call of MPI just before each one
    std::int64_t message_bytes;
    std::int64_t window_bytes;
    std::int64_t processes;  ///< of one spawn
    std::int64_t uses;       ///< the first one and later ones
    bool validate;
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: numbers that do not go together.
Config configure(const Assignment& assignment);

}  // namespace slowpath::first_use
