// SPDX-License-Identifier: Apache-2.0
/// What went through this process's sockets during marked calls, in order, as libslowpath-witness.so logs it
/// where it is preloaded.
#pragma once

#include <cstdint>
#include <string>

#include "witness/slowpath_witness.h"

namespace slowpath {

class MessageLog {
  public:
    /// Finds the library among those of the process.
    MessageLog();

    /// Whether somebody logs: this is a witnessed launch, and its library knows how.
    bool witnessed() const { return start_ != nullptr && mark_ != nullptr && stop_ != nullptr; }

    /// Logs from now on.  Every rank must do so before any of them sends what the log is about.
    void start();
    /// A call of the program's own begins or has ended.
    void begin(std::uint64_t call) { mark_(SLOWPATH_WITNESS_BEGIN, call); }
    void end(std::uint64_t call) { mark_(SLOWPATH_WITNESS_END, call); }
    /// The line `messages` of the cell (docs/internals/record.md); logging is over.
    /// @param known_calls The first calls: one message of known length from rank 0 to rank 1 each.
    std::string take(std::uint32_t cell, int rank, std::uint64_t known_calls);

  private:
    decltype(&slowpath_witness_messages_start) start_;
    decltype(&slowpath_witness_messages_mark) mark_;
    decltype(&slowpath_witness_messages_stop) stop_;
    decltype(&slowpath_witness_messages_room) room_;
};

}  // namespace slowpath
