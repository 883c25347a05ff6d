// SPDX-License-Identifier: Apache-2.0
/// One call of a collective: the library's blocking, nonblocking or persistent one, or a mock-up.
#pragma once

#include <mpi.h>

#include "coll/operands.hpp"
#include "coll/parameters.hpp"
#include "mockups/workspace.hpp"

namespace slowpath::coll {

/// Whether the library has MPI_..._init of collectives (MPI-4.1 section 6.13).
bool has_persistent();

/// Bound to its operands, which outlive it.
class Call {
  public:
    /// Collective over the communicator: makes the request of a persistent call.  @throws mpi::Error.
    Call(const Config& config, const Operands& operands);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// What is timed.  @return An MPI error code.
    int run();
    /// The two halves of a nonblocking or persistent call of the library.  @return An MPI error code.
    int begin();
    int finish() { return MPI_Wait(&request_, MPI_STATUS_IGNORE); }

  private:
    const Operands& operands_;
    Start start_;
    const mockups::Mockup* mockup_;  ///< nullptr: the library
    mockups::Workspace* workspace_ = nullptr;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace slowpath::coll
