// SPDX-License-Identifier: Apache-2.0
// Single messages, each timed on both ends.  synchronise=outside: our barrier before each, and nothing but
// the call in the timed region.  synchronise=inside: call and MPI_Barrier in the timed region, as the field
// reproducers have it.  posted=before and after: late_receive.hpp.
#include <cstdint>
#include <utility>

#include "mpi/check.hpp"
#include "p2p/late_receive.hpp"
#include "p2p/patterns.hpp"

namespace slowpath::p2p {
namespace {

/// @param buffer Where the first message stands; then, where the one after the last would stand.
/// @param message Performs one message on this end, given where it stands, and returns an MPI error code.
template <class Message>
void time_separated(const MonotonicClock& clock, const mpi::Barrier& barrier, std::int64_t messages,
                    Samples& samples, const LiveBuffer*& buffer, Message&& message) {
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(buffer, buffer->next)->forth;
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
                       const LiveBuffer*& buffer, Message&& message) {
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(buffer, buffer->next)->forth;
        const std::int64_t begin_ns = clock.now_ns();
        const int code = message(data);
        const int barrier_code = MPI_Barrier(MPI_COMM_WORLD);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        mpi::check(barrier_code, "MPI_Barrier");
        samples.add(begin_ns, end_ns);
    }
}

void time_messages(Endpoint& endpoint, std::int64_t messages) {
    const Config& config = endpoint.config();
    const int peer = endpoint.roles().peer;
    const LiveBuffer* buffer = endpoint.next_buffer();
    const auto time = [&](auto&& message) {
        if (config.barrier_inside)
            time_with_barrier(endpoint.context().clock, messages, endpoint.samples(), buffer, message);
        else
            time_separated(endpoint.context().clock, endpoint.barrier(), messages, endpoint.samples(), buffer,
                           message);
    };
    endpoint.encoding().with_blocking([&](const auto& transfer) {
        if (endpoint.roles().sends())
            time([&](std::byte* data) { return transfer.send(data, peer, message_tag); });
        else
            time([&](std::byte* data) { return transfer.receive(data, peer, message_tag); });
    });
    endpoint.continue_from(buffer);
}

void record_messages(Endpoint& endpoint, Phase phase, std::int64_t messages, std::int64_t first_sample) {
    // Whatever the barrier touches for the first time shall not count as faults of the block.
    endpoint.barrier().wait();
    endpoint.begin_block(messages);
    if (endpoint.config().posted == Posted::together)
        time_messages(endpoint, messages);
    else
        time_late_messages(endpoint, messages);
    endpoint.end_block(phase, 1, first_sample, true);
}

}  // namespace

Steps one_way(Endpoint& endpoint) {
    return {
        .first = [&endpoint] { record_messages(endpoint, Phase::first, 1, 0); },
        .rest =
            [&endpoint] {
                const std::int64_t later = (endpoint.config().messages - 1) * endpoint.config().live_buffers;
                if (later > 0) record_messages(endpoint, Phase::steady, later, 1);
                endpoint.steady_samples += later;
                endpoint.batch = 1;
            },
        .check_only =
            [&endpoint](Side) {
                endpoint.encoding().with_blocking([&](const auto& transfer) {
                    const int peer = endpoint.roles().peer;
                    mpi::check(endpoint.roles().sends()
                                   ? transfer.send(endpoint.data(), peer, message_tag)
                                   : transfer.receive(endpoint.data(), peer, message_tag),
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
