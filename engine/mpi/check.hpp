// SPDX-License-Identifier: Apache-2.0
/// Every MPI call of the shell goes through check(): a failing one throws, main reports it and aborts the
/// job.
#pragma once

#include <mpi.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace slowpath::mpi {

class Error : public std::runtime_error {
  public:
    Error(const char* call, int code, const std::source_location& where);

    const std::source_location& where() const noexcept { return where_; }

  private:
    std::source_location where_;
};

/// @param code What an MPI function returned.  @param call Its name.
/// @throws Error unless code is MPI_SUCCESS.
inline void check(int code, const char* call,
                  const std::source_location& where = std::source_location::current()) {
    if (code != MPI_SUCCESS) [[unlikely]]
        throw Error(call, code, where);
}

}  // namespace slowpath::mpi
