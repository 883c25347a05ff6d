// SPDX-License-Identifier: Apache-2.0
#include "p2p/late_receive.hpp"

#include <algorithm>
#include <utility>

#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

/// The receiver has left the barrier by then, and does not find the message while it is still in there.
constexpr std::int64_t sender_waits_ns = 10'000;

/// Long enough for a short message to have left its sender; a long one waits for its receiver anyhow.
std::int64_t receiver_waits_ns(std::int64_t message_bytes) {
    constexpr std::int64_t least_ns = 40'000, most_ns = 1'000'000, bytes_per_ns = 4;
    return sender_waits_ns + std::min(least_ns + message_bytes / bytes_per_ns, most_ns);
}

void stay_outside(const MonotonicClock& clock, std::int64_t length_ns) {
    const std::int64_t end_ns = clock.now_ns() + length_ns;
    while (clock.now_ns() < end_ns) {
    }
}

template <class Transfer>
void send_messages(Endpoint& endpoint, const Transfer& transfer, std::int64_t messages,
                   const LiveBuffer*& buffer) {
    const MonotonicClock clock = endpoint.context().clock;
    const int peer = endpoint.roles().peer;
    for (std::int64_t i = 0; i < messages; ++i) {
        const std::byte* const data = std::exchange(buffer, buffer->next)->forth;
        endpoint.barrier().wait();
        stay_outside(clock, sender_waits_ns);
        const std::int64_t begin_ns = clock.now_ns();
        const int code = transfer.send(data, peer, message_tag);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send");
        endpoint.samples().add(begin_ns, end_ns);
    }
}

template <class Transfer>
void receive_expected(Endpoint& endpoint, const Transfer& transfer, std::int64_t messages,
                      const LiveBuffer*& buffer) {
    const MonotonicClock clock = endpoint.context().clock;
    const int peer = endpoint.roles().peer;
    const std::int64_t wait_ns = receiver_waits_ns(endpoint.config().message_bytes);
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(buffer, buffer->next)->forth;
        MPI_Request request = MPI_REQUEST_NULL;
        mpi::check(transfer.start_receive(data, peer, message_tag, &request), "MPI_Irecv");
        endpoint.barrier().wait();
        stay_outside(clock, wait_ns);
        const std::int64_t begin_ns = clock.now_ns();
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Wait");
        endpoint.samples().add(begin_ns, end_ns);
    }
}

template <class Transfer>
void receive_unexpected(Endpoint& endpoint, const Transfer& transfer, std::int64_t messages,
                        const LiveBuffer*& buffer) {
    const MonotonicClock clock = endpoint.context().clock;
    const int peer = endpoint.roles().peer;
    const std::int64_t wait_ns = receiver_waits_ns(endpoint.config().message_bytes);
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(buffer, buffer->next)->forth;
        endpoint.barrier().wait();
        stay_outside(clock, wait_ns);
        const std::int64_t begin_ns = clock.now_ns();
        const int probed = MPI_Probe(peer, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const int received = transfer.receive(data, peer, message_tag);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(probed, "MPI_Probe");
        mpi::check(received, "MPI_Recv");
        endpoint.samples().add(begin_ns, end_ns);
    }
}

}  // namespace

void time_late_messages(Endpoint& endpoint, std::int64_t messages) {
    const LiveBuffer* buffer = endpoint.next_buffer();
    endpoint.encoding().with_started([&](const auto& transfer) {
        if (endpoint.roles().sends())
            send_messages(endpoint, transfer, messages, buffer);
        else if (endpoint.config().posted == Posted::before)
            receive_expected(endpoint, transfer, messages, buffer);
        else
            receive_unexpected(endpoint, transfer, messages, buffer);
    });
    endpoint.continue_from(buffer);
}

}  // namespace slowpath::p2p
