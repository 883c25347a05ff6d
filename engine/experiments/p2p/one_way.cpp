// SPDX-License-Identifier: Apache-2.0
// Single messages, each timed on both ends.  synchronise=outside: our barrier before each, and nothing but
// the call in the timed region.  synchronise=inside: call and MPI_Barrier in the timed region, as the field
// reproducers have it.  posted=before and after: late_receive.hpp.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "mpi/check.hpp"
#include "p2p/completed.hpp"
#include "p2p/late_receive.hpp"
#include "p2p/patterns.hpp"
#include "p2p/preparation.hpp"

namespace slowpath::p2p {
namespace {

/// @param message Performs one message on this end, given where it stands, and returns an MPI error code.
template <class Prepare, class Message>
void time_one(const MonotonicClock& clock, const mpi::Barrier& barrier, const Prepare& prepare,
              std::byte* data, Samples& samples, Message&& message) {
    prepare.before_barrier(data);
    barrier.wait();
    prepare.after_barrier();
    const std::int64_t begin_ns = clock.now_ns();
    const int code = message(data);
    const std::int64_t end_ns = clock.now_ns();
    mpi::check(code, "MPI_Send or MPI_Recv");
    samples.add(begin_ns, end_ns);
}

/// @param buffer Where the first message stands; then, where the one after the last would stand.
template <class Prepare, class Message>
void time_separated(Endpoint& endpoint, const Prepare& prepare, std::int64_t messages,
                    const LiveBuffer*& buffer, Message&& message) {
    const MonotonicClock clock = endpoint.context().clock;
    for (std::int64_t i = 0; i < messages; ++i)
        time_one(clock, endpoint.barrier(), prepare, std::exchange(buffer, buffer->next)->forth,
                 endpoint.samples(), message);
}

/// Both lengths by turns, from the same buffer, so that lengths do not go with buffers.
/// @param other As `message`, of the other length.  @param others Where its times go.
template <class Prepare, class Message, class Other>
void time_alternating(Endpoint& endpoint, const Prepare& prepare, std::int64_t messages,
                      const LiveBuffer*& buffer, Samples& others, Message&& message, Other&& other) {
    const MonotonicClock clock = endpoint.context().clock;
    for (std::int64_t i = 0; i < messages; ++i) {
        std::byte* const data = std::exchange(buffer, buffer->next)->forth;
        time_one(clock, endpoint.barrier(), prepare, data, endpoint.samples(), message);
        time_one(clock, endpoint.barrier(), prepare, data, others, other);
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

/// Call `body` with what performs one message on this end.
template <class Transfer, class Body>
void with_message(const Endpoint& endpoint, const Transfer& transfer, Body&& body) {
    const int peer = endpoint.roles().peer;
    if (endpoint.roles().sends())
        body([&transfer, peer](std::byte* data) { return transfer.send(data, peer, message_tag); });
    else
        body([&transfer, peer](std::byte* data) { return transfer.receive(data, peer, message_tag); });
}

/// Call `body` with the transfer of a message as the cell's calls have it: decided before anything is timed.
template <class Body>
void with_transfer(const Config& config, const MessageEncoding& encoding, Body&& body) {
    if (!config.calls_otherwise()) return encoding.with_blocking(body);
    encoding.with_started([&](const auto& transfer) {
        body(Otherwise<std::decay_t<decltype(transfer)>>{transfer, config.completion, config.source});
    });
}

/// The same with the transfers of both lengths, which are called alike.
template <class Body>
void with_both_transfers(const Endpoint& endpoint, Body&& body) {
    const Config& config = endpoint.config();
    const MessageEncoding &one = endpoint.encoding(), &other = *endpoint.other_encoding();
    if (!config.calls_otherwise())
        return one.with_blocking([&](const auto& transfer) {
            other.with_blocking([&](const auto& other_transfer) { body(transfer, other_transfer); });
        });
    one.with_started([&](const auto& transfer) {
        other.with_started([&](const auto& other_transfer) {
            body(Otherwise<std::decay_t<decltype(transfer)>>{transfer, config.completion, config.source},
                 Otherwise<std::decay_t<decltype(other_transfer)>>{other_transfer, config.completion,
                                                                   config.source});
        });
    });
}

/// Call `body` with what is done before each message: decided before anything is timed.
template <class Body>
void with_preparation(Endpoint& endpoint, Body&& body) {
    if (endpoint.config().prepares())
        body(Preparation(endpoint.context().clock, endpoint.config(), *endpoint.roles().side));
    else
        body(NoPreparation{});
}

void time_messages(Endpoint& endpoint, std::int64_t messages) {
    const LiveBuffer* buffer = endpoint.next_buffer();
    with_transfer(endpoint.config(), endpoint.encoding(), [&](const auto& transfer) {
        with_message(endpoint, transfer, [&](auto&& message) {
            if (endpoint.config().barrier_inside)
                return time_with_barrier(endpoint.context().clock, messages, endpoint.samples(), buffer,
                                         message);
            with_preparation(endpoint, [&](const auto& prepare) {
                time_separated(endpoint, prepare, messages, buffer, message);
            });
        });
    });
    endpoint.continue_from(buffer);
}

void time_both_lengths(Endpoint& endpoint, std::int64_t messages, Samples& others) {
    const LiveBuffer* buffer = endpoint.next_buffer();
    others.start(static_cast<std::size_t>(messages));
    with_both_transfers(endpoint, [&](const auto& transfer, const auto& other_transfer) {
        with_message(endpoint, transfer, [&](auto&& message) {
            with_message(endpoint, other_transfer, [&](auto&& other) {
                with_preparation(endpoint, [&](const auto& prepare) {
                    time_alternating(endpoint, prepare, messages, buffer, others, message, other);
                });
            });
        });
    });
    endpoint.continue_from(buffer);
}

void record_messages(Endpoint& endpoint, Phase phase, std::int64_t messages, std::int64_t first_sample) {
    // Whatever the barrier touches for the first time shall not count as faults of the block.
    endpoint.barrier().wait();
    endpoint.begin_block(messages);
    Samples others;
    if (endpoint.other_encoding() != nullptr)
        time_both_lengths(endpoint, messages, others);
    else if (endpoint.config().posted == Posted::together)
        time_messages(endpoint, messages);
    else
        time_late_messages(endpoint, messages);
    endpoint.end_block(phase, 1, first_sample, true);
    if (others.size() > 0) endpoint.add_part(phase, 1, first_sample, length_part::other, others, true);
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
                endpoint.longest_encoding().with_blocking([&](const auto& transfer) {
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
