// SPDX-License-Identifier: Apache-2.0
/// What both reproducers share outside their loops: arguments, MPI's beginning and end, and errors.
#pragma once

#include <functional>
#include <string_view>

#include "memory/buffer.hpp"
#include "reproducers/arguments.hpp"

namespace slowpath::reproducers {

/// The two ranks of MPI_COMM_WORLD that take part in a message: 0 sends, the last one receives, others wait.
struct Ranks {
    int rank;
    int size;
    int node_rank;  ///< position among the ranks of its node as the launcher says it, else `rank`

    bool sends() const { return rank == 0; }
    bool receives() const { return rank == last(); }
    int last() const { return size - 1; }
};

/// What main() of a reproducer is: the loop itself, within MPI, and what it needs to be started.
struct Program {
    std::int64_t largest_message_bytes;      ///< must be sendable by this MPI library
    std::function<void(const Ranks&)> body;  ///< collective over MPI_COMM_WORLD; throws
};

/// Parse the words and run the program that they make.
/// @return the exit code: 0, 2 for wrong arguments, 4 for a machine or an MPI library that does not allow it.
/// Every error is one line on stderr; one that comes up on some ranks only ends in MPI_Abort.
/// It goes by the name of its file: one program may have two.
int run(int argc, char** argv, std::string_view usage, Program (*make)(Words words));

}  // namespace slowpath::reproducers
