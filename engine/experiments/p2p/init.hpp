// SPDX-License-Identifier: Apache-2.0
/// One small round trip before anything counts.
#pragma once

#include <optional>
#include <string>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

/// Connections, drivers and the library's own buffers are set up at first use; without this the first message
/// from the first allocation would pay for it.  The memory is of the cell's kinds and stays allocated during
/// the cell, so that no fresh allocation comes at its address.  What it took is kept in a block of phase init
/// on the senders.
class InitExchange {
  public:
    /// Local.
    explicit InitExchange(Endpoint& endpoint);
    /// Why the memory could not be had.
    const std::optional<std::string>& failure() const { return failure_; }
    /// The round trip, if this rank takes part.  @throws mpi::Error.
    void run();

  private:
    Endpoint& endpoint_;
    std::optional<memory::Buffer> buffer_;
    std::optional<std::string> failure_;
};

}  // namespace slowpath::p2p
