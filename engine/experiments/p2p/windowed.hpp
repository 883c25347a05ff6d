// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

// Windows of messages whose requests are made before they are timed: persistent ones (MPI-4.1 section 3.9),
// or one partitioned message (section 4.2).

/// One thread's.
class ReadyMade {
  public:
    ReadyMade(const Endpoint& endpoint, const Lane& lane);
    ~ReadyMade();
    ReadyMade(ReadyMade&&) noexcept = default;
    ReadyMade& operator=(ReadyMade&&) = delete;

    /// @return The first MPI error code that is not MPI_SUCCESS.
    int run(std::int64_t windows);

  private:
    int start();
    int answer();

    int peer_;
    int answer_tag_;
    int partitions_;  ///< 0: persistent requests
    bool is_sender_;
    bool answers_;
    std::vector<MPI_Request> requests_;
};

/// Collective over both ends of a pair.  @throws mpi::Error.
std::vector<ReadyMade> make_ready(const Endpoint& endpoint, const std::vector<Lane>& lanes);

}  // namespace slowpath::p2p
