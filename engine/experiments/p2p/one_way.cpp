// SPDX-License-Identifier: Apache-2.0
// Single messages, each timed on both ends.  synchronise=outside: our barrier before each, and nothing but
// the call in the timed region.  synchronise=inside: call and MPI_Barrier in the timed region, as the field
// reproducers have it.  posted=before and after: late_receive.hpp.
#include <cstdint>
#include <utility>

#include "experiments/p2p/late_receive.hpp"
#include "experiments/p2p/patterns.hpp"
#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

/// @param turn Where the first message stands; then, where the one after the last would stand.
/// @param message Performs one message on this end, given where it stands, and returns an MPI error code.
template <class Message>
void time_separated(const MonotonicClock& clock, const mpi::Barrier& barrier, std::int64_t messages,
                    Samples& samples, const Turn*& turn, Message&& message) {
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(turn, turn->next)->forth;
        barrier.wait();
        const std::int64_t begin_ns = clock.now_ns();
        const int code = message(data);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        samples.add(begin_ns, end_ns);
    }
}

template <class Message>
void time_with_barrier(const MonotonicClock& clock, std::int64_t messages, Samples& samples,
                       const Turn*& turn, Message&& message) {
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(turn, turn->next)->forth;
        const std::int64_t begin_ns = clock.now_ns();
        const int code = message(data);
        const int barrier_code = MPI_Barrier(MPI_COMM_WORLD);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        mpi::check(barrier_code, "MPI_Barrier");
        samples.add(begin_ns, end_ns);
    }
}

void time_messages(End& end, std::int64_t messages) {
    const Config& config = end.config();
    const int peer = end.roles().peer;
    const Turn* turn = end.turn();
    const auto time = [&](auto&& message) {
        if (config.barrier_inside)
            time_with_barrier(end.context().clock, messages, end.samples(), turn, message);
        else
            time_separated(end.context().clock, end.barrier(), messages, end.samples(), turn, message);
    };
    end.form().with_blocking([&](const auto& transfer) {
        if (end.roles().sends())
            time([&](std::byte* data) { return transfer.send(data, peer, message_tag); });
        else
            time([&](std::byte* data) { return transfer.receive(data, peer, message_tag); });
    });
    end.go_on_from(turn);
}

void record_messages(End& end, Phase phase, std::int64_t messages, std::int64_t first_sample) {
    // Whatever the barrier touches for the first time shall not count as faults of the block.
    end.barrier().wait();
    end.begin_block(messages);
    if (end.config().posted == Posted::together)
        time_messages(end, messages);
    else
        time_late_messages(end, messages);
    end.end_block(phase, 1, first_sample, true);
}

}  // namespace

Steps one_way(End& end) {
    return {
        .first = [&end] { record_messages(end, Phase::first, 1, 0); },
        .rest =
            [&end] {
                const std::int64_t later = (end.config().messages - 1) * end.config().live_buffers;
                if (later > 0) record_messages(end, Phase::steady, later, 1);
                end.steady_samples += later;
                end.batch = 1;
            },
        .check_only =
            [&end](Side) {
                end.form().with_blocking([&](const auto& transfer) {
                    const int peer = end.roles().peer;
                    mpi::check(end.roles().sends() ? transfer.send(end.data(), peer, message_tag)
                                                   : transfer.receive(end.data(), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
    };
}

void stand_by(const Config& config) {
    if (config.pattern != Pattern::one_way || !config.barrier_inside) return;
    for (std::int64_t i = 0; i < config.messages * config.live_buffers; ++i)
        mpi::check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

}  // namespace slowpath::p2p
