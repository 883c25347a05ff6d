// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

// Messages that are on their way before the receiver enters the library: expected ones, whose receive was
// posted before, and unexpected ones.

/// After a barrier the sender waits a little, outside the library, and sends; the receiver waits, outside the
/// library, until the message is on its way, and only then enters the library.  Timed on the receiver is all
/// that the library does for the message from then on:
///   posted=before  MPI_Wait for the MPI_Irecv that was posted before the barrier;
///   posted=after   MPI_Probe, which returns when the message is among the unexpected ones (MPI-4.1
///   section 3.8.1),
///                  and MPI_Recv.  Without MPI_Probe a library that looks at its network only when it is
///                  called would find no unexpected message, post the receive, and meet the message as an
///                  expected one.
/// Both hold the copy or the transfer, so that they can be compared.  Times go to end.samples() on both
/// sides.
void time_late_messages(Endpoint& endpoint, std::int64_t messages);

// What a rank does before each single message, outside of the timed region.

/// What most cells do: nothing that a loop would have to test.
struct NoPreparation {
    void before_barrier(const std::byte*) const {}
    void after_barrier() const {}
};

/// Caches made warm or cold, then, after the barrier, time without any call of the library: a barrier after
/// it would wake what idle_s let go to sleep.
class Preparation {
  public:
    Preparation(const MonotonicClock& clock, const Config& config, Side side);
    /// @param data Where the message stands.
    void before_barrier(const std::byte* data) const;
    void after_barrier() const;

  private:
    MonotonicClock clock_;
    Cache cache_;
    std::size_t bytes_;
    std::int64_t idle_ns_;
    std::int64_t asleep_ns_;  ///< of it
};

// Messages that match nothing while others are timed, so that a library searches past them.

/// `queue` empty messages from the sender to the receiver, each with a tag of its own, in the same
/// communicator as the measured ones.  posted=before: their receives are posted before all others, and they
/// are sent at the end. posted=after: they are sent before all others, have all arrived when the first
/// message is timed, and are received at the end. open_receive=on: one from the receiver to the sender, whose
/// receive is posted before all others; it is sent at the end.
class Queue {
  public:
    explicit Queue(Endpoint& endpoint);
    /// Called by all ranks, before the first set of buffers.  @throws mpi::Error.
    void fill();
    /// Called by all ranks after the last set: as many messages are received as were sent.  @throws
    /// mpi::Error.
    void drain();

  private:
    Endpoint& endpoint_;
    int length_ = 0;  ///< 0 on ranks that take no part
    bool unexpected_;
    bool backwards_;  ///< the receiver sends
    std::vector<MPI_Request> receives_;

    bool sends() const;
    void send_all() const;
    void post_all();
};

}  // namespace slowpath::p2p
