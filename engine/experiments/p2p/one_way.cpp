// SPDX-License-Identifier: Apache-2.0
#include "p2p/one_way.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <utility>

#include "memory/cache.hpp"
#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {

// Single messages, each timed on both ends.  synchronise=outside: our barrier before each, and nothing but
// the call in the timed region.  synchronise=inside: call and MPI_Barrier in the timed region, as the field
// reproducers have it.  posted=before and after: late_receive.hpp.

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

namespace {

/// Spun after a sleep: more than a timer of the kernel is late, so that neither end waits for the other to
/// wake.
constexpr std::int64_t awake_ns = 100'000;

}  // namespace

Preparation::Preparation(const MonotonicClock& clock, const Config& config, Side side)
    : clock_(clock),
      cache_(config.side(side).cache),
      bytes_(static_cast<std::size_t>(config.payload(side).extent_bytes())),
      idle_ns_(std::llround(config.idle_s * 1e9)),
      asleep_ns_(config.idle_sleeps ? std::max<std::int64_t>(0, idle_ns_ - awake_ns) : 0) {}

void Preparation::before_barrier(const std::byte* data) const {
    if (cache_ == Cache::warm) memory::read_lines(data, bytes_);
    if (cache_ == Cache::cold) memory::flush_lines(data, bytes_);
}

void Preparation::after_barrier() const {
    if (idle_ns_ == 0) return;
    const std::int64_t end_ns = clock_.now_ns() + idle_ns_;
    if (asleep_ns_ > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(asleep_ns_));
    while (clock_.now_ns() < end_ns) {
    }
}

namespace {

/// Beyond those of messages and their answers; MPI_TAG_UB is at least 32767 (MPI-4.1 section 9.1.2).
constexpr int first_tag = message_tag + 100;

}  // namespace

Queue::Queue(Endpoint& endpoint)
    : endpoint_(endpoint),
      unexpected_(endpoint.config().posted == Posted::after),
      backwards_(endpoint.config().open_receive) {
    if (endpoint.roles().side) length_ = backwards_ ? 1 : static_cast<int>(endpoint.config().queue);
}

bool Queue::sends() const {
    return endpoint_.roles().sends() != backwards_;
}

void Queue::send_all() const {
    for (int i = 0; i < length_; ++i)
        mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, endpoint_.roles().peer, first_tag + i, MPI_COMM_WORLD),
                   "MPI_Send");
}

void Queue::post_all() {
    receives_.assign(static_cast<std::size_t>(length_), MPI_REQUEST_NULL);
    for (int i = 0; i < length_; ++i)
        mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, endpoint_.roles().peer, first_tag + i, MPI_COMM_WORLD,
                             &receives_[static_cast<std::size_t>(i)]),
                   "MPI_Irecv");
}

void Queue::fill() {
    if (length_ == 0) return;
    if (!sends()) {
        if (!unexpected_) return post_all();
        // Messages don't overtake each other (MPI-4.1 section 3.5): when the last one is there, all are.
        mpi::check(
            MPI_Probe(endpoint_.roles().peer, first_tag + length_ - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Probe");
    } else if (unexpected_) {
        send_all();
    }
}

void Queue::drain() {
    if (length_ == 0) return;
    if (sends()) {
        if (!unexpected_) send_all();
        return;
    }
    if (unexpected_) post_all();
    mpi::check(MPI_Waitall(length_, receives_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

}  // namespace slowpath::p2p
