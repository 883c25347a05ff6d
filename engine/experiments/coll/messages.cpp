// SPDX-License-Identifier: Apache-2.0
/// pattern=messages: calls in which one rank after the other comes late, so that what others send without
/// waiting for it has left by then.  Which message a rank waited for is then no chance of the scheduler
/// (slowpath.mpi.message_graph2).
#include <algorithm>
#include <chrono>
#include <thread>

#include "coll/measurement.hpp"
#include "mpi/barrier.hpp"
#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::coll {
namespace {

/// Half of them synchronous: the answer to such a message looks like a message.
constexpr std::uint64_t known_calls = 8;
/// Each rank is late so often; the calls of either half must say the same.
constexpr int rounds = 2;
constexpr int trials = 5;
/// Long enough for the others to do all that they can without the late rank, as far as anybody would wait.
constexpr std::int64_t in_calls = 3, least_late_ns = 2'000'000, most_late_ns = 40'000'000;

}  // namespace

std::optional<std::string> Measurement::run_messages() {
    MessageLog log;
    if (highest(log.witnessed() ? 0 : 1) != 0)
        return "pattern=messages: nobody logs messages here; it needs a witnessed launch (an environment "
               "with "
               "witness = true)";
    if (team_.size() < 2) return "pattern=messages needs 2 ranks that call";
    if (auto failure = use(false, config_.duplicates)) return failure;
    Call call(config_, operands_);
    const std::int64_t late_ns = std::clamp(in_calls * shortest_ns(call), least_late_ns, most_late_ns);
    const mpi::Barrier barrier(meeting_.callers, ranks_);
    barrier.wait();
    log.start();
    barrier.wait();  // what the log is about is sent when everybody logs
    log_known(log);
    log_calls(log, call, late_ns);
    barrier.wait();  // what was sent has been received
    context_.record.events += log.take(context_.cell, team_.rank(), known_calls);
    check_result("after the last call", call);
    return std::nullopt;
}

std::int64_t Measurement::shortest_ns(Call& call) {
    std::int64_t shortest = most_late_ns;
    for (int trial = 0; trial < trials; ++trial) {
        operands_.restore();
        static_cast<void>(meeting_.release.wait());
        const std::int64_t begin_ns = context_.clock.now_ns();
        mpi::check(call.run(), "the collective");
        shortest = std::min(shortest, highest(context_.clock.now_ns() - begin_ns));
    }
    return shortest;
}

void Measurement::log_known(MessageLog& log) {
    std::vector<std::byte> message(
        static_cast<std::size_t>(config_.collective == Collective::barrier ? 0 : config_.message_bytes));
    const auto length = static_cast<int>(message.size());
    for (std::uint64_t number = 0; number < known_calls; ++number) {
        const auto send = number < known_calls / 2 ? MPI_Send : MPI_Ssend;
        static_cast<void>(meeting_.release.wait());
        log.begin(number);
        if (team_.rank() == 0)
            mpi::check(send(message.data(), length, MPI_BYTE, 1, mpi::tag::known, meeting_.callers),
                       "MPI_Send");
        if (team_.rank() == 1)
            mpi::check(MPI_Recv(message.data(), length, MPI_BYTE, 0, mpi::tag::known, meeting_.callers,
                                MPI_STATUS_IGNORE),
                       "MPI_Recv");
        log.end(number);
    }
}

void Measurement::log_calls(MessageLog& log, Call& call, std::int64_t late_ns) {
    const int ranks = team_.size();
    for (int number = 0; number < rounds * ranks; ++number) {
        operands_.restore();
        static_cast<void>(meeting_.release.wait());
        // Asleep, so that others have its core.
        if (number % ranks == team_.rank()) std::this_thread::sleep_for(std::chrono::nanoseconds(late_ns));
        log.begin(known_calls + static_cast<std::uint64_t>(number));
        const int code = call.run();
        log.end(known_calls + static_cast<std::uint64_t>(number));
        mpi::check(code, "the collective");
    }
}

}  // namespace slowpath::coll
