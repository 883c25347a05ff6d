// SPDX-License-Identifier: Apache-2.0
/// From what was timed to blocks of the record: part 0 is a whole use, parts from 1 on are what it consists
/// of.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "experiment/context.hpp"
#include "record/witness.hpp"

namespace slowpath::first_use {

struct Span {
    std::int64_t begin_ns;
    std::int64_t end_ns;
};

/// Blocks of one phase; a part without spans has no block.
/// @param seq0 Number of the first of them, from 0 on the first use.  @param kernel What the kernel did
/// during them.
void record_spans(Context& context, Phase phase, std::uint64_t part, std::int64_t seq0,
                  const std::vector<Span>& spans, const Witness& kernel = {});

/// What the kernel did during several stretches.
class KernelTotal {
  public:
    void add(const Witness& before, const Witness& after);
    const Witness& total() const { return total_; }

  private:
    Witness total_;
};

}  // namespace slowpath::first_use
