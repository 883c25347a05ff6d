// SPDX-License-Identifier: Apache-2.0
/// slowpath-ipc: docs/results/gpu.md.
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "core/arguments.hpp"
#include "core/error.hpp"
#include "ipc/exporter.hpp"
#include "ipc/process_description.hpp"
#include "ipc/report.hpp"
#include "version.hpp"

namespace slowpath::ipc {
namespace {

constexpr int exit_ok = 0;
constexpr int exit_wrong_payload = 1;
constexpr int exit_usage = 2;
constexpr int exit_environment = 4;

std::string help() {
    std::string text =
        "What sharing GPU memory between two processes costs, step by step, below any MPI library.\n\n"
        "  slowpath-ipc [--key value]... [--out DIR]   medians on stdout, every sample in DIR\n\n"
        "Values: bytes as 4096, 64KiB, 1GiB+1; lists 1GiB,1GiB+1; ranges 1MiB..1GiB*2. Lists multiply into "
        "cells.\n\nParameters:\n";
    for (const Parameter& parameter : parameters())
        text += "  --" + std::string(parameter.name) + " (" + name(parameter.type) + "; default " +
                std::string(parameter.default_value) + ")\n      " + std::string(parameter.meaning) + "\n";
    return text +
           "\nExit codes: 0 all cells ok or skipped, 1 the importer read wrong bytes, 2 usage, 4 no driver "
           "or device, or a call that failed.\n";
}

/// @throws what Exporter::run throws, unless the memory just is not there.
void run_cell(Exporter& exporter, Report& report, const Config& config) {
    if (const std::string obstacle = exporter.obstacle(config); !obstacle.empty())
        return report.end_cell(Status::skipped, obstacle);
    try {
        exporter.run(config, [&](const Sharing& sharing) { report.add(sharing); });
    } catch (const memory::Error& error) {
        if (error.call() != "cuMemAlloc") throw;
        return report.end_cell(Status::skipped, error.what());
    }
    if (report.wrong_bytes() == 0) return report.end_cell(Status::ok, std::nullopt);
    report.end_cell(Status::failed,
                    "the importer read " + std::to_string(report.wrong_bytes()) + " wrong bytes");
}

int run_all(const std::vector<Assignment>& cells, const std::optional<std::string>& out) {
    Peer importer(serve_imports);  // before the first driver call of this process
    Exporter exporter(importer);
    const std::string about_importer = describe_importer(importer);
    Report report(out);
    report.begin_launch({describe_process(exporter_rank), about_importer});
    for (std::uint32_t cell = 0; cell < cells.size(); ++cell) {
        const Config config = configure(cells[cell]);
        report.begin_cell(cell, cells[cell], config);
        run_cell(exporter, report, config);
    }
    report.end_launch();
    return report.any_failed() ? exit_wrong_payload : exit_ok;
}

int run(std::vector<std::string_view> words) {
    words.insert(words.begin(), "ipc");  // the engine's command line has the experiment first
    const Arguments arguments = parse_arguments(words);
    if (arguments.action == Action::help || arguments.action == Action::version) {
        const std::string text =
            arguments.action == Action::help ? help() : std::string("slowpath-ipc ") + engine_version + "\n";
        return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? exit_environment : exit_ok;
    }
    std::vector<Assignment> cells;
    for (const KeyValues& given : expand_cells(parameters(), arguments.parameters)) {
        cells.emplace_back(parameters(), given);
        static_cast<void>(configure(cells.back()));  // judged before anything is run
    }
    return run_all(cells, arguments.out);
}

}  // namespace
}  // namespace slowpath::ipc

int main(int argc, char** argv) {
    using namespace slowpath;
    const auto complain = [](const std::exception& error) {
        std::fputs((std::string("slowpath-ipc: error: ") + error.what() + "\n").c_str(), stderr);
    };
    try {
        return ipc::run({argv + 1, argv + argc});
    } catch (const UsageError& error) {
        complain(error);
        return ipc::exit_usage;
    } catch (const std::exception& error) {
        complain(error);
        return ipc::exit_environment;
    }
}
