// SPDX-License-Identifier: Apache-2.0
/// What a witnessed launch (docs/internals/statistics.md) writes in addition to its events: the library's own
/// settings and counters.
#pragma once

#include <memory>
#include <string>

#include "mpi/tools.hpp"

namespace slowpath {

class Witnessing {
  public:
    /// Nothing unless asked: opening the tool interface costs time and can change what a library does.
    /// @param folder Where rank 0 writes.
    Witnessing(bool witnessed, const std::string& folder);

    /// control_variables.json, and counters start.  @throws EnvironmentFailure: it can't be written.
    void begin();
    /// performance_variables.json.  @throws EnvironmentFailure: it can't be written.
    void end();

  private:
    void write(const char* name, const std::string& text) const;

    std::string folder_;
    std::unique_ptr<mpi::Tools> tools_;
};

}  // namespace slowpath
