// SPDX-License-Identifier: Apache-2.0
/// What one rank of a watched program did, as a list of operations: docs/internals/skeleton.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath::skeleton {

enum class Kind : std::uint8_t {
    compute,
    send,
    ssend,
    isend,
    issend,
    recv,
    irecv,
    sendrecv,
    probe,
    wait,
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    alltoall,
    dup,
};

/// In the order of Kind: the first word of an operation's line.
inline constexpr std::array<std::string_view, 19> names{
    "compute", "send",  "ssend",  "isend",     "issend", "recv",    "irecv",     "sendrecv", "probe", "wait",
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "dup"};

/// One side of a message. buffer: number of the memory, -1: memory that MPI has not seen yet.
struct Message {
    int peer = 0;
    int tag = 0;
    int bytes = 0;
    int buffer = 0;
};

/// length_ns: of compute.  first: of a message, or root and bytes of a collective.  second: what a sendrecv
/// receives.  requests: that it starts, or waits for.
struct Operation {
    Kind kind = Kind::compute;
    std::int64_t length_ns = 0;
    int communicator = 0;
    Message first;
    Message second;
    std::vector<int> requests;
};

/// communicators: world ranks of each that this rank is in, empty: it is not; in the order in which all make
/// them.  buffer_bytes: of each buffer.
struct Script {
    int rank = 0;
    int ranks = 0;
    int requests = 0;
    std::vector<std::vector<int>> communicators;
    std::vector<std::int64_t> buffer_bytes;
    std::vector<Operation> operations;
};

/// @throws EnvironmentFailure: it is no script, with the number of the line.
Script parse(std::string_view text);

}  // namespace slowpath::skeleton
