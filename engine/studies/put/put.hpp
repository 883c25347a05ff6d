// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "experiment/context.hpp"
#include "experiment/experiment.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"

namespace slowpath::put {

// The experiment put: what a put costs, in time and in instructions.

extern const Experiment experiment;

// The origin's blocks: which part of a burst a block holds stands in its field `allocation`
// (docs/internals/record.md).

enum class Part : std::uint32_t {
    whole = 0,            ///< puts and their synchronisation, batch bursts a sample
    puts = 1,             ///< the puts of one burst
    synchronisation = 2,  ///< the synchronisation of the same burst
};

/// One stretch of bursts, with what the kernel did meanwhile.
class BlockWriter {
  public:
    explicit BlockWriter(Context& context) : context_(context) {}

    /// Right before the first sample.
    void begin();
    /// Right after the last one: the witness is read here, once for all blocks of the stretch.
    void end();
    /// @param first_sample Position of the first sample among all of the part.
    void append(const Samples& samples, Phase phase, Part part, std::uint32_t batch,
                std::int64_t first_sample);

  private:
    Context& context_;
    std::int64_t begin_ns_ = 0;
    Witness before_;
    Witness after_;
};

// The line of a cell on stdout.

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

}  // namespace slowpath::put
