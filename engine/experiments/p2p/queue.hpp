// SPDX-License-Identifier: Apache-2.0
/// Messages that match nothing while others are timed, so that a library searches past them.
#pragma once

#include <mpi.h>

#include <vector>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

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
