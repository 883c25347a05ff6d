// SPDX-License-Identifier: Apache-2.0
#include "reproducers/program.hpp"

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "mpi/check.hpp"
#include "mpi/launch_info.hpp"
#include "mpi/thread_level.hpp"
#include "mpi/transfer.hpp"

namespace slowpath::reproducers {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_environment = 4;

/// Without a launcher there is one process, which then is the one that speaks.
bool first_process() {
    return mpi::rank_from_environment().value_or(0) == 0;
}

void print_error(std::string_view program, const Ranks& ranks, const std::string& text,
                 const std::string& where = {}) {
    std::cerr << std::string(program) + ": error: " + text + " (rank " + std::to_string(ranks.rank) + " of " +
                     std::to_string(ranks.size) + " on " + mpi::host_name() + where + ")\n"
              << std::flush;
}

/// Why this job can't start, as every rank finds out without asking another; empty if it can.
std::string obstacle(const Program& program, const Ranks& ranks) {
    if (ranks.size < 2) {
        const int started = mpi::size_from_environment().value_or(1);
        return started > 1
                   ? "the launcher started " + std::to_string(started) +
                         " processes, and each is alone in MPI_COMM_WORLD: the launcher or its PMI does not "
                         "belong to this MPI library"
                   : "MPI_COMM_WORLD has 1 rank and 2 are needed: start it with, for example, mpiexec -n 2";
    }
    if (program.largest_message_bytes > INT_MAX && !mpi::has_large_counts())
        return "p2p_size " + std::to_string(program.largest_message_bytes) + " is over " +
               std::to_string(INT_MAX) + ", and this MPI library has no MPI_Send_c for such messages";
    return {};
}

/// What fails on rank 0 mostly fails on the last rank too, and rank 0 then ends the job before it speaks: on
/// a machine that is busy, the launcher needs more than a second for that.
void print_failure(std::string_view name, const Ranks& ranks, const std::string& text,
                   const std::string& where = {}) {
    if (ranks.rank != 0) std::this_thread::sleep_for(std::chrono::seconds(5));
    print_error(name, ranks, text, where);
}

/// A rank that waits elsewhere for this one can't be reached but by MPI_Abort (MPI-4.1 chapter 11).
[[noreturn]] void abort_job() {
    // mpiexec of MPICH 5.0.2 ends the job at once, and what it has not forwarded of stderr is lost.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) MPI_Abort(MPI_COMM_WORLD, exit_environment);
    std::_Exit(exit_environment);
}

int run_in_mpi(std::string_view name, const Program& program) {
    Ranks ranks{0, 1, 0};
    try {
        // No mpi::Session: its communicators would be the first contact of the ranks, which is measured.
        mpi::initialise();
        mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank), "MPI_Comm_rank");
        mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &ranks.size), "MPI_Comm_size");
        ranks.node_rank = mpi::node_rank_from_environment().value_or(ranks.rank);
        const std::string reason = obstacle(program, ranks);
        if (reason.empty()) program.body(ranks);
        // Singletons are each the first of their own world.
        else if (ranks.rank == 0 && first_process())
            print_error(name, ranks, reason);
        mpi::check(MPI_Finalize(), "MPI_Finalize");
        return reason.empty() ? 0 : exit_environment;
    } catch (const mpi::Error& error) {
        print_failure(
            name, ranks, error.what(),
            std::string(", ") + error.where().file_name() + ':' + std::to_string(error.where().line()));
    } catch (const std::exception& error) {
        print_failure(name, ranks, error.what());
    }
    abort_job();
}

std::string usage_of(std::string_view name, std::string_view usage) {
    return "usage: " + std::string(name) + ' ' + std::string(usage);
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// Only one process speaks. The others end later: a launcher may kill the whole job when the first process
/// fails, and none of them can wait for the speaker by MPI, which has not started.
int explain_usage(const UsageError& error, std::string_view name, std::string_view usage) {
    if (first_process())
        std::cerr << usage_of(name, usage) + std::string(name) + ": error: " + error.what() + '\n';
    else
        std::this_thread::sleep_for(std::chrono::seconds(1));
    return exit_usage;
}

}  // namespace

int run(int argc, char** argv, std::string_view usage, Program (*make)(Words words)) {
    const std::string_view name = base_name(argc > 0 ? argv[0] : "reproducer");
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
        if (first_process()) std::cout << usage_of(name, usage) << std::flush;
        return std::cout ? 0 : exit_environment;
    }
    try {
        return run_in_mpi(name, make(words));
    } catch (const UsageError& error) {
        return explain_usage(error, name, usage);
    }
}

}  // namespace slowpath::reproducers
