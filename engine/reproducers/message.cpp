// SPDX-License-Identifier: Apache-2.0
#include "reproducers/message.hpp"

#include <mpi.h>

#include <iostream>
#include <sstream>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "memory/gpu_driver.hpp"
#include "mpi/check.hpp"
#include "mpi/transfer.hpp"

namespace slowpath::reproducers {
namespace {

constexpr int tag = 0;

void transfer(const Ranks& ranks, const std::optional<memory::Buffer>& buffer, std::int64_t bytes) {
    mpi::with_transfer(bytes, [&](const auto& message) {
        if (ranks.sends()) mpi::check(message.send(buffer->data(), ranks.last(), tag), "MPI_Send");
        if (ranks.receives()) mpi::check(message.receive(buffer->data(), 0, tag), "MPI_Recv");
    });
}

void barrier() {
    mpi::check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

/// The ranks of a node take its visible GPUs in turn; 0 for memory that needs none.
int device_for(memory::Kind kind, int node_rank) {
    if (const auto reason = memory::unavailable(kind))
        throw EnvironmentFailure(std::string(memory::name(kind)) + " memory: " + *reason);
    return kind == memory::Kind::host ? 0 : node_rank % memory::GpuDriver::instance()->device_count();
}

/// Launchers forward the lines of different ranks in no certain order, unless there is time between them. A
/// rank that sleeps would slow down the next message.
void give_launcher_time() {
    constexpr std::int64_t enough_ns = 100'000'000;
    const MonotonicClock clock;
    const std::int64_t begin_ns = clock.now_ns();
    while (clock.now_ns() - begin_ns < enough_ns) {
    }
}

void print(const std::string& line) {
    std::cout << line << '\n' << std::flush;
    if (!std::cout)
        throw EnvironmentFailure("stdout takes no more lines: the disk may be full or the reader gone");
}

}  // namespace

std::optional<memory::Buffer> allocate(const Ranks& ranks, memory::Kind kind, BufferSizes sizes) {
    if (!ranks.sends() && !ranks.receives()) return std::nullopt;
    return memory::Buffer({
        .kind = kind,
        .pages = memory::Pages::system_default,
        .bytes = static_cast<std::size_t>(ranks.sends() ? sizes.send_bytes : sizes.receive_bytes),
        .offset_bytes = 0,
        .touch = memory::Touch::none,
        .device = device_for(kind, ranks.node_rank),
    });
}

std::int64_t time_message(const Ranks& ranks, const std::optional<memory::Buffer>& buffer,
                          std::int64_t bytes) {
    const MonotonicClock clock;
    const std::int64_t begin_ns = clock.now_ns();
    transfer(ranks, buffer, bytes);
    barrier();
    return clock.now_ns() - begin_ns;
}

std::int64_t time_warmup(const Ranks& ranks, memory::Kind kind, std::int64_t bytes) {
    const MonotonicClock clock;
    const std::int64_t begin_ns = clock.now_ns();
    auto buffer = allocate(ranks, kind, {bytes, bytes});
    transfer(ranks, buffer, bytes);
    if (buffer) buffer->release();
    barrier();
    return clock.now_ns() - begin_ns;
}

void print_line(const Ranks& ranks, const std::string& line) {
    if (ranks.rank == 0) print(line);
}

void print_heading(const Ranks& ranks, const std::string& line) {
    barrier();
    if (ranks.rank == 1) {
        give_launcher_time();
        print(line);
        give_launcher_time();
    }
    barrier();
}

void print_time(const Ranks& ranks, const std::string& where, std::int64_t time_ns) {
    std::ostringstream line;
    line << '[' << where << "] time: " << static_cast<double>(time_ns) / 1e9;
    print_line(ranks, line.str());
}

void print_iterations(const Ranks& ranks, memory::Kind kind, std::int64_t num_iterations,
                      std::int64_t num_sub_iterations, std::int64_t message_bytes, BufferSizes sizes) {
    for (std::int64_t i = 0; i < num_iterations; ++i) {
        auto buffer = allocate(ranks, kind, sizes);
        for (std::int64_t j = 0; j < num_sub_iterations; ++j) {
            const std::int64_t time_ns = time_message(ranks, buffer, message_bytes);
            print_time(ranks, std::to_string(i) + ':' + std::to_string(j), time_ns);
        }
        if (buffer) buffer->release();
    }
}

}  // namespace slowpath::reproducers
