// SPDX-License-Identifier: Apache-2.0
#include "shell/report.hpp"

#include <cstdio>

#include "core/error.hpp"
#include "core/text_table.hpp"
#include "mpi/launch.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"
#include "version.hpp"

namespace slowpath {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string thread_level_json(const mpi::ThreadLevels& levels) {
    return JsonObject().text_or_null("asked", levels.asked).text("provided", levels.provided).str();
}

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        throw EnvironmentFailure("can't write to stdout");
}

}  // namespace

Report::Report(const mpi::Session& session, const Arguments& arguments)
    : session_(session), prints_(session.rank() == 0 && !arguments.plan) {
    if (session.rank() == 0 && arguments.out) writer_ = std::make_unique<RecordWriter>(*arguments.out);
}

void Report::begin_launch(const Plan& plan, const Calibration& calibration) {
    std::vector<RankValues> ranks(session_.rank() == 0 ? static_cast<std::size_t>(session_.size()) : 0);
    mpi::gather(session_.control(), bytes_of(packed(mpi::rank_values(calibration))),
                [&](int rank, std::span<const std::byte> bytes) {
                    ranks[static_cast<std::size_t>(rank)] = unpacked(text_of(bytes));
                });
    const auto same_host = mpi::text_of_root(session_.control(), mpi::host_name()) == mpi::host_name();
    const std::array mine{std::int64_t{same_host}};
    one_node_ = mpi::reduce(session_.control(), mine, MPI_MIN)[0] == 1;
    JsonObject event;
    event.integer("launch", plan.launch).unsigned_integer("seed", plan.seed).text("engine", engine_version);
    event.text("mpi_library", mpi::library_version()).text("mpi_standard", mpi::standard_version());
    event.integer("size", session_.size()).raw("thread_level", thread_level_json(session_.thread_levels()));
    event.raw("nodes", node_ranks_json(ranks));
    event.boolean("witnessed", CallLedger().witnessed());
    write_event("launch_begin", event.fields());
    if (const auto note = mpi::too_low(session_.thread_levels()))
        write_event("note", JsonObject().text("text", *note).fields());
    const std::string source = clock_source();
    if (source != "tsc" && source != "arch_sys_counter" && source != "kvm-clock")
        write_event("note",
                    JsonObject().text("text", "clock source " + source + " may be slow or coarse").fields());
}

void Report::begin_cell(std::uint32_t cell) {
    cell_ = cell;
    write_event("cell_begin", JsonObject().integer("cell", cell).fields());
}

void Report::end_cell(std::uint32_t cell, const CellRecord& mine, const Experiment& experiment,
                      const Assignment& assignment, const Outcome& outcome) {
    cell_ = cell;
    CellNumbers numbers{{}, one_node_, session_.size(), mine.counts};
    rank_events(mine.events);
    mpi::gather(session_.control(), mine.blocks, [&](int, std::span<const std::byte> bytes) {
        if (writer_) writer_->blocks(bytes);
        if (!prints_) return;
        while (auto block = take_block(bytes)) numbers.blocks.push_back(std::move(*block));
    });
    write_end(outcome);
    if (prints_) print_row(experiment, assignment, numbers, outcome);
}

void Report::rank_events(const std::string& mine) {
    mpi::gather(session_.control(), bytes_of(mine),
                [&](int, std::span<const std::byte> bytes) { write_rank_events(text_of(bytes)); });
}

void Report::write_end(const Outcome& outcome) {
    JsonObject event;
    event.integer("cell", cell_).text("status", name(outcome.status)).text_or_null("reason", outcome.reason);
    event.integer("batch", outcome.batch).integer("steady_samples", outcome.steady_samples);
    event.text_or_null("stopped_because", outcome.stopped_because);
    event.integer("validated_bytes", outcome.validated_bytes).integer("wrong_bytes", outcome.wrong_bytes);
    write_event("cell_end", event.fields());
}

void Report::alive(std::uint32_t cell, bool at_once) {
    constexpr std::int64_t silence_ns = 5'000'000'000;
    if (at_once || clock_.now_ns() - last_event_ns_ > silence_ns)
        write_event("progress", JsonObject().integer("cell", cell).fields());
}

void Report::end_launch(const std::array<int, 3>& counts) {
    JsonObject event;
    event.integer("cells_ok", counts[static_cast<std::size_t>(Status::ok)]);
    event.integer("cells_skipped", counts[static_cast<std::size_t>(Status::skipped)]);
    event.integer("cells_failed", counts[static_cast<std::size_t>(Status::failed)]);
    write_event("launch_end", event.fields());
    if (writer_) writer_->sync();
}

void Report::write_event(std::string_view name, const std::string& fields) {
    last_event_ns_ = clock_.now_ns();
    if (writer_) writer_->event(name, last_event_ns_, fields);
}

void Report::write_rank_events(std::string_view lines) {
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        const std::string_view line = lines.substr(0, end);
        const std::size_t blank = line.find(' ');
        write_event(line.substr(0, blank), std::string(line.substr(blank + 1)));
        lines.remove_prefix(end + 1);
    }
}

void Report::print_row(const Experiment& experiment, const Assignment& assignment, const CellNumbers& numbers,
                       const Outcome& outcome) {
    const TableRow row = experiment.tabulate(assignment, numbers);
    const std::string given = assignment.differences(experiment.swept);
    const std::string header = "# " + std::string(experiment.name) + (given.empty() ? "" : " ") + given +
                               "\n" + table_header(row.columns);
    if (header != printed_header_) print((printed_header_.empty() ? "" : "\n") + header);
    printed_header_ = header;
    if (outcome.status != Status::skipped) print(table_row(row.size_bytes, row.numbers));
    if (outcome.status != Status::ok)
        print("# " + std::to_string(row.size_bytes) + " " + name(outcome.status) + ": " + *outcome.reason +
              "\n");
}

}  // namespace slowpath
