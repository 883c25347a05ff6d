// SPDX-License-Identifier: Apache-2.0
/// What rank 0 writes: the record if a folder was given, the table on stdout if there is no plan.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/parameters.hpp"
#include "experiment/context.hpp"
#include "experiment/experiment.hpp"
#include "record/writer.hpp"

namespace slowpath {

/// All calls but begin_cell are collective; only rank 0 writes.
class Report {
  public:
    /// @throws EnvironmentFailure on rank 0: the folder can't be used.
    Report(const mpi::Session& session, const Arguments& arguments);

    /// @param calibration This rank's own.
    void begin_launch(const Plan& plan, const Calibration& calibration);
    void begin_cell(std::uint32_t cell);
    void end_cell(std::uint32_t cell, const CellRecord& mine, const Experiment& experiment,
                  const Assignment& assignment, const Outcome& outcome);
    /// Rank 0 writes a line `progress`: at once, or if it has written nothing for some seconds.  Not
    /// collective.
    void alive(std::uint32_t cell, bool at_once);
    /// What ranks have to say about the launch.  @param mine Lines as in CellRecord::events.
    void rank_events(const std::string& mine);
    void end_launch(const std::array<int, 3>& counts);

  private:
    void write_event(std::string_view name, const std::string& fields);
    void write_rank_events(std::string_view lines);
    void write_end(const Outcome& outcome);
    void print_row(const Experiment& experiment, const Assignment& assignment, const CellNumbers& numbers,
                   const Outcome& outcome);

    const mpi::Session& session_;
    MonotonicClock clock_;
    std::unique_ptr<RecordWriter> writer_;  ///< rank 0 with --out
    bool prints_;                           ///< rank 0 without --plan
    std::uint32_t cell_ = 0;
    std::int64_t last_event_ns_ = 0;
    bool one_node_ = true;
    std::string printed_header_;
};

}  // namespace slowpath
