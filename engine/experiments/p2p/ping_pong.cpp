// SPDX-License-Identifier: Apache-2.0
// Round trips between rank 0, which times them, and the last rank; each has a buffer to send from and one to
// receive in.
#include <cstdint>

#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {
namespace {

/// Each round trip takes the next of the live buffers.
/// @return The first MPI error code that is not MPI_SUCCESS.
template <class Transfer>
int ping(const Transfer& transfer, const LiveBuffer*& buffer, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.send(buffer->forth, peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = transfer.receive(buffer->back, peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        buffer = buffer->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int pong(const Transfer& transfer, const LiveBuffer*& buffer, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.receive(buffer->forth, peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = transfer.send(buffer->back, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
        buffer = buffer->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_pings(Endpoint& endpoint, const Transfer& transfer, std::int64_t samples, std::uint32_t batch) {
    const MonotonicClock clock = endpoint.context().clock;
    const int peer = endpoint.roles().peer;
    const LiveBuffer* buffer = endpoint.next_buffer();
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        const int code = ping(transfer, buffer, peer, batch);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        endpoint.samples().add(begin_ns, end_ns);
    }
    endpoint.continue_from(buffer);
}

template <class Transfer>
void answer_pings(Endpoint& endpoint, const Transfer& transfer, std::int64_t round_trips) {
    const LiveBuffer* buffer = endpoint.next_buffer();
    mpi::check(pong(transfer, buffer, endpoint.roles().peer, round_trips), "MPI_Recv or MPI_Send");
    endpoint.continue_from(buffer);
}

void run_samples(Endpoint& endpoint, std::int64_t samples, std::uint32_t batch) {
    endpoint.encoding().with_blocking([&](const auto& transfer) {
        if (endpoint.roles().sends())
            time_pings(endpoint, transfer, samples, batch);
        else
            answer_pings(endpoint, transfer, samples * batch);
    });
}

}  // namespace

Steps ping_pong(Endpoint& endpoint) {
    const RunSamples run = [&endpoint](std::int64_t samples, std::uint32_t batch) {
        run_samples(endpoint, samples, batch);
    };
    const bool stores = endpoint.roles().sends();
    return {
        .first = [&endpoint, stores, run] { run_first(endpoint, stores, run); },
        .rest = [&endpoint, stores, run] { run_rest(endpoint, stores, run); },
        .check_only =
            [&endpoint](Side from) {
                endpoint.encoding().with_blocking([&](const auto& transfer) {
                    const int peer = endpoint.roles().peer;
                    mpi::check(endpoint.roles().side == from
                                   ? transfer.send(endpoint.data(from), peer, message_tag)
                                   : transfer.receive(endpoint.data(from), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
    };
}

}  // namespace slowpath::p2p
