// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record/block.hpp"
#include "witness/slowpath_witness.h"

namespace slowpath {

// What the kernel did for this process: read before and after a block, never in a timed region.

struct Witness {
    bool valid = false;  ///< getrusage answered
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;
    std::int64_t user_time_ns = 0;
    std::int64_t system_time_ns = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;
    std::int32_t cpu = -1;
};

/// getrusage(RUSAGE_SELF) and sched_getcpu, now.
Witness read_witness();

/// Put the difference of two readings into a header, with its flags.
void store_witness(BlockHeader& header, const Witness& before, const Witness& after);

// Which calls of the C library this process made in each phase of a cell, as libslowpath-witness.so counts
// them where it is preloaded; read between timed regions only.

/// Sums over the blocks of a cell, by phase.  Without the library all of it does nothing.
class CallLedger {
  public:
    /// Finds the library among those of the process, once.
    CallLedger();

    /// Whether somebody counts: this is a witnessed launch.
    bool witnessed() const { return read_ != nullptr; }

    /// Right before a block's first operation.
    void begin();
    /// Right after its last one.
    /// @param operations Of this rank in the block, those of its peer's samples included.
    void end(Phase phase, std::int64_t operations);
    /// The lines `calls` of the cell (docs/internals/record.md), one for each phase with an operation; the
    /// sums are then empty again.
    std::string take(std::uint32_t cell, int rank);

  private:
    using Numbers = std::vector<slowpath_witness_number>;
    struct Sum {
        std::int64_t operations = 0;
        Numbers numbers;
    };
    Numbers now() const;

    decltype(&slowpath_witness_read) read_;
    Numbers before_;
    std::array<Sum, phase_names.size()> sums_{};
};

}  // namespace slowpath
