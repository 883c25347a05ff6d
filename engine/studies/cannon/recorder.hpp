// SPDX-License-Identifier: Apache-2.0
/// The repetitions of one variant on this rank, until they go into the record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cannon/cycles.hpp"
#include "cannon/timeline.hpp"
#include "experiment/context.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::cannon {

class Recorder {
  public:
    explicit Recorder(Phase phase) : phase_(phase) {}

    /// One repetition.  @param other_s Processor time of other processes meanwhile, if known.
    /// @param clock The processor's frequency right after it; nullopt: not read.
    void add(const Timeline& timeline, std::int64_t involuntary_switches, std::optional<double> other_s,
             const std::optional<ClockReading>& clock = std::nullopt);

    /// One block for each part that occurs, one sample for each of its intervals; events `intervals` (the
    /// steps of one repetition's intervals, part by part) and `repetitions` (disturbances).
    /// docs/internals/record.md.
    void write(const Context& context, CellRecord& record) const;

    std::int64_t repetitions() const { return static_cast<std::int64_t>(switches_.size()); }

  private:
    struct Series {
        std::vector<std::int64_t> durations_ns;
        std::vector<std::int64_t> begins_ns;
        std::vector<std::int32_t> steps;  ///< of the first repetition's intervals
    };
    void write_part(const Context& context, CellRecord& record, std::size_t part) const;

    Phase phase_;
    std::array<Series, parts> series_;
    std::vector<std::int64_t> switches_;
    std::vector<std::optional<double>> others_s_;
    std::vector<std::optional<double>> clocks_hz_;
    std::string clock_from_;  ///< empty: no clock was read
};

}  // namespace slowpath::cannon
