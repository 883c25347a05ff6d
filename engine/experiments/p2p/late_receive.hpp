// SPDX-License-Identifier: Apache-2.0
/// Messages that are on their way before the receiver enters the library: expected ones, whose receive was
/// posted before, and unexpected ones.
#pragma once

#include <cstdint>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

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

}  // namespace slowpath::p2p
