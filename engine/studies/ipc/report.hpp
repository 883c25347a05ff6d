// SPDX-License-Identifier: Apache-2.0
/// The table on stdout and, on request, the record (docs/results/gpu.md says how steps become blocks).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/parameters.hpp"
#include "ipc/exporter.hpp"
#include "ipc/steps.hpp"
#include "record/writer.hpp"

namespace slowpath::ipc {

enum class Status { ok, skipped, failed };

class Report {
  public:
    /// @param out Folder of the record.  @throws EnvironmentFailure: it can't be written, or holds one.
    explicit Report(const std::optional<std::string>& out);

    /// @param ranks Both processes, JSON each.
    void begin_launch(const std::vector<std::string>& ranks);
    void begin_cell(std::uint32_t cell, const Assignment& assignment, const Config& config);
    void add(const Sharing& sharing);
    /// @param reason Given when the status is not ok.
    void end_cell(Status status, const std::optional<std::string>& reason);
    void end_launch();

    std::int64_t wrong_bytes() const { return wrong_bytes_; }
    bool any_failed() const { return counts_[static_cast<std::size_t>(Status::failed)] != 0; }

  private:
    void event(std::string_view name, const std::string& fields);
    void write_allocation(const Sharing& sharing, bool importer);
    void print_row(Status status, const std::optional<std::string>& reason);

    std::unique_ptr<RecordWriter> writer_;
    MonotonicClock clock_;
    std::array<int, 3> counts_{};  // by Status
    std::string printed_header_;

    std::uint32_t cell_ = 0;
    Config config_{};
    std::string header_;
    std::array<std::vector<double>, step_count> times_us_;  // of the cell, warm-up left out
    std::int64_t compared_bytes_ = 0;
    std::int64_t wrong_bytes_ = 0;
};

}  // namespace slowpath::ipc
