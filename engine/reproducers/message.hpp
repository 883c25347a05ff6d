// SPDX-License-Identifier: Apache-2.0
/// One message from rank 0 to the last rank, and the lines that report it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "memory/buffer.hpp"
#include "reproducers/program.hpp"

namespace slowpath::reproducers {

/// Buffers of this many bytes on the two ranks that take part; the others have none.
struct BufferSizes {
    std::int64_t send_bytes;
    std::int64_t receive_bytes;
};

/// Allocate this rank's buffer, fresh and untouched, as the original commands do. The first one of GPU memory
/// starts the driver.
/// @throws EnvironmentFailure where there is no such memory.
std::optional<memory::Buffer> allocate(const Ranks& ranks, memory::Kind kind, BufferSizes sizes);

/// MPI_Send on rank 0, MPI_Recv on the last rank, then MPI_Barrier on all.
/// @return nanoseconds of both on this rank.  @throws mpi::Error
std::int64_t time_message(const Ranks& ranks, const std::optional<memory::Buffer>& buffer,
                          std::int64_t bytes);

/// The warm-up that the logs call [-1]: allocation, one message, free and barrier, with buffers as long as
/// the message. The first contact of the ranks and of the GPU driver: nothing came before it but MPI_Init.
/// @return nanoseconds of all of it on this rank.  @throws mpi::Error, memory::Error
std::int64_t time_warmup(const Ranks& ranks, memory::Kind kind, std::int64_t bytes);

/// Rank 0 prints a line and flushes it, so that a job that is killed has printed all it knew.
/// @throws EnvironmentFailure when stdout takes no more.
void print_line(const Ranks& ranks, const std::string& line);

/// Rank 1 prints the line above times, between what rank 0 prints before and after it.
void print_heading(const Ranks& ranks, const std::string& line);

/// `[where] time: T`, T in seconds as ostream prints a double (6 significant digits).
void print_time(const Ranks& ranks, const std::string& where, std::int64_t time_ns);

/// num_iterations fresh buffers, num_sub_iterations messages from each, a line for each message.
void print_iterations(const Ranks& ranks, memory::Kind kind, std::int64_t num_iterations,
                      std::int64_t num_sub_iterations, std::int64_t message_bytes, BufferSizes sizes);

}  // namespace slowpath::reproducers
