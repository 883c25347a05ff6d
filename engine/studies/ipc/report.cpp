// SPDX-License-Identifier: Apache-2.0
#include "ipc/report.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text_table.hpp"
#include "version.hpp"

namespace slowpath::ipc {
namespace {

constexpr double ns_per_us = 1000.0;

const char* name(Status status) {
    return std::array{"ok", "skipped", "failed"}[static_cast<std::size_t>(status)];
}

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        throw EnvironmentFailure("can't write to stdout");
}

/// What sets this cell apart, without what its size shows already.
std::string differences(const Assignment& assignment) {
    std::string made;
    for (const Parameter& parameter : parameters()) {
        const std::string value = assignment.text(parameter.name);
        if (parameter.name == "allocation_bytes" || parameter.name == "overalloc_bytes" ||
            value == parse_value(parameter, parameter.default_value).sender)
            continue;
        made += " " + std::string(parameter.name) + "=" + value;
    }
    return made;
}

BlockHeader header_of(const Sharing& sharing, std::size_t step) {
    const StepTime& time = sharing.imported.times[step];
    const bool exported = step == static_cast<std::size_t>(Step::export_handle);
    const bool again = step > static_cast<std::size_t>(Step::close);
    BlockHeader header;
    header.rank = exported ? exporter_rank : importer_rank;
    header.phase = sharing.phase == Phase::first && again ? Phase::steady : sharing.phase;
    header.allocation = sharing.index;
    header.seq0 = step;
    header.t0_ns = time.begin_ns;
    if (exported ? sharing.reused_address : sharing.reused_mapping_address)
        header.flags |= block_flag::reused_address;
    store_witness(header, time.before, time.after);
    return header;
}

}  // namespace

Report::Report(const std::optional<std::string>& out) {
    if (out) writer_ = std::make_unique<RecordWriter>(*out);
}

void Report::begin_launch(const std::vector<std::string>& ranks) {
    JsonObject about;
    about.integer("launch", 0).integer("seed", 0).text("engine", engine_version);
    about.null("mpi_library").null("mpi_standard");
    event("launch_begin", about.integer("size", 2).raw("ranks", json_array(ranks)).fields());
}

void Report::begin_cell(std::uint32_t cell, const Assignment& assignment, const Config& config) {
    cell_ = cell;
    config_ = config;
    for (std::vector<double>& times : times_us_) times.clear();
    compared_bytes_ = wrong_bytes_ = 0;
    std::vector<std::string_view> columns{"Size"};
    for (const StepInfo& step : steps) columns.push_back(step.column);
    header_ = "# ipc" + differences(assignment) + "\n" + table_header(columns);
    JsonObject given;
    for (const Parameter& parameter : parameters())
        given.text(parameter.name, assignment.text(parameter.name));
    event(
        "cell_begin",
        JsonObject().integer("cell", cell).text("experiment", "ipc").raw("parameters", given.str()).fields());
}

void Report::add(const Sharing& sharing) {
    compared_bytes_ += config_.access_bytes;
    wrong_bytes_ += sharing.imported.wrong_bytes;
    write_allocation(sharing, false);
    write_allocation(sharing, true);
    std::vector<std::byte> blocks;
    for (std::size_t step = 0; step < step_count; ++step) {
        const StepTime& time = sharing.imported.times[step];
        const std::array duration_ns{time.end_ns - time.begin_ns};
        const std::array begin_ns{time.begin_ns};
        BlockHeader header = header_of(sharing, step);
        header.cell = cell_;
        append_block(blocks, header, duration_ns, begin_ns);
        if (sharing.phase == Phase::first)
            times_us_[step].push_back(static_cast<double>(duration_ns[0]) / ns_per_us);
    }
    if (writer_) writer_->blocks(blocks);
}

void Report::write_allocation(const Sharing& sharing, bool importer) {
    JsonObject about;
    about.integer("cell", cell_).integer("rank", importer ? importer_rank : exporter_rank);
    about.integer("index", sharing.index).text("role", importer ? "import" : "export");
    about.text("memory", "device").text("mpi_memory_kind", "cuda:device");
    const CudaDevicePointer pointer = importer ? sharing.imported.address : sharing.pointer;
    about.unsigned_integer("base", pointer).unsigned_integer("address", pointer);
    about.integer("allocation_bytes", config_.total_bytes).integer("offset_bytes", 0);
    about.boolean("reused_address", importer ? sharing.reused_mapping_address : sharing.reused_address);
    about.integer("device", importer ? config_.importer_device : config_.exporter_device);
    if (!importer)
        about.unsigned_integer("range_base", sharing.range_base)
            .unsigned_integer("range_bytes", sharing.range_bytes);
    event("allocation", about.fields());
}

void Report::end_cell(Status status, const std::optional<std::string>& reason) {
    ++counts_[static_cast<std::size_t>(status)];
    JsonObject about;
    about.integer("cell", cell_).text("status", name(status)).text_or_null("reason", reason);
    about.integer("batch", 1).unsigned_integer("steady_samples", times_us_.back().size());
    about.text("stopped_because", "samples");
    about.integer("validated_bytes", compared_bytes_).integer("wrong_bytes", wrong_bytes_);
    event("cell_end", about.fields());
    print_row(status, reason);
}

void Report::print_row(Status status, const std::optional<std::string>& reason) {
    if (header_ != printed_header_) print((printed_header_.empty() ? "" : "\n") + header_);
    printed_header_ = header_;
    std::vector<std::optional<double>> medians;
    for (const std::vector<double>& times : times_us_) medians.push_back(median(times));
    if (status != Status::skipped) print(table_row(config_.total_bytes, medians));
    if (reason)
        print("# " + std::to_string(config_.total_bytes) + " " + name(status) + ": " + *reason + "\n");
}

void Report::end_launch() {
    JsonObject about;
    about.integer("cells_ok", counts_[0])
        .integer("cells_skipped", counts_[1])
        .integer("cells_failed", counts_[2]);
    event("launch_end", about.fields());
    if (writer_) writer_->sync();
}

void Report::event(std::string_view name, const std::string& fields) {
    if (writer_) writer_->event(name, clock_.now_ns(), fields);
}

}  // namespace slowpath::ipc
