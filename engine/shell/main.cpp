// SPDX-License-Identifier: Apache-2.0
/// slowpath-engine: docs/reference/engine-interface.md.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "catalogue/check.hpp"
#include "catalogue/describe.hpp"
#include "core/error.hpp"
#include "mpi/launch.hpp"
#include "mpi/session.hpp"
#include "shell/run.hpp"
#include "version.hpp"

namespace {

using namespace slowpath;

void complain(const std::string& text) {
    std::fputs(("slowpath-engine: error: " + text + "\n").c_str(), stderr);
}

/// No one else can stop the other ranks, which may wait for this one for ever.
[[noreturn]] void abort_job(const mpi::Session& session, const std::string& text, const std::string& place) {
    complain(text + " (rank " + std::to_string(session.rank()) + " of " + std::to_string(session.size()) +
             " on " + mpi::host_name() + place + ")");
    std::fflush(nullptr);
    // Some launchers drop what they have not yet forwarded when the job is aborted.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Abort(MPI_COMM_WORLD, exit_environment);
    std::_Exit(exit_environment);
}

/// What all ranks find alike, before the first cell, needs no MPI_Abort; one of them says it.
int run_or_complain(const mpi::Session& session, const Arguments& arguments) {
    // Singletons are all rank 0; the launcher knows better.
    const bool speaks = session.rank() == 0 && mpi::rank_from_environment().value_or(0) == 0;
    try {
        return run_cells(session, arguments);
    } catch (const UsageError& error) {
        if (speaks) complain(error.what());
        return exit_usage;
    } catch (const AgreedFailure& error) {
        if (speaks) complain(error.what());
        return exit_environment;
    }
}

int run_with_mpi(const Arguments& arguments) {
    mpi::Session session;
    try {
        const int code = run_or_complain(session, arguments);
        session.finish();
        return code;
    } catch (const mpi::Error& error) {
        const std::string_view file = error.where().file_name();
        abort_job(session, error.what(),
                  ", " + std::string(file.substr(file.rfind('/') + 1)) + ":" +
                      std::to_string(error.where().line()));
    } catch (const std::exception& error) {
        abort_job(session, error.what(), "");
    }
}

int print_and_leave(const std::string& text) {
    // A text longer than the buffer fails in fputs already, and the flush of what is left then succeeds.
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return exit_ok;
    complain("can't write to stdout");
    return exit_environment;
}

/// The plan on stdin or in a file.  @throws UsageError: it can't be read.
std::string plan_text(const std::string& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    std::istream& from = path == "-" ? std::cin : file;
    std::ostringstream content;
    if (!from || (from.peek() != std::istream::traits_type::eof() && !(content << from.rdbuf())))
        throw UsageError("can't read the plan " + path + ": " + std::strerror(errno));
    return content.str();
}

int check(const Arguments& arguments) {
    const CheckedPlan checked = check_cells(parse_plan(plan_text(*arguments.plan)), arguments.ranks);
    const int code = print_and_leave(checked.lines);
    return code == exit_ok && !checked.all_valid ? exit_usage : code;
}

int run(const Arguments& arguments) {
    switch (arguments.action) {
        case Action::help:
            return print_and_leave(arguments.experiment.empty() ? general_help()
                                                                : experiment_help(arguments.experiment));
        case Action::version:
            return print_and_leave(std::string("slowpath-engine ") + engine_version + "\n");
        case Action::check:
            return check(arguments);
        case Action::describe:
            return print_and_leave(arguments.json ? describe_json(engine_version)
                                                  : describe_text(engine_version));
        case Action::run_experiment:
            static_cast<void>(plan_of(arguments));
            break;  // judged before MPI starts
        case Action::run_plan:
            break;
    }
    return run_with_mpi(arguments);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string_view> words(argv + 1, argv + argc);
        if (words.size() == 1 && words.front() == mpi::spawned_word)
            return mpi::be_spawned() ? exit_ok : exit_usage;
        return run(parse_arguments(words));
    } catch (const UsageError& error) {
        // All processes of the job read the same command line; one complains, and the others give it the time
        // to: a launcher may kill the job at the first exit code that is not 0.
        if (mpi::rank_from_environment().value_or(0) == 0)
            complain(error.what());
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return exit_usage;
    } catch (const std::exception& error) {
        complain(error.what());
        return exit_environment;
    }
}
