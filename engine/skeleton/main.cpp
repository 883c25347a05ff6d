// SPDX-License-Identifier: Apache-2.0
/// slowpath-skeleton FOLDER OUT: each rank plays FOLDER/rank-N.txt; rank 0 writes the times of all into OUT.
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "mpi/check.hpp"
#include "skeleton/player.hpp"

namespace slowpath::skeleton {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_environment = 4;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw EnvironmentFailure(path + ": can't be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

/// calls and nanoseconds of each kind, and the total.
std::vector<std::int64_t> row_of(const Times& times) {
    std::vector<std::int64_t> row(times.calls.begin(), times.calls.end());
    row.insert(row.end(), times.length_ns.begin(), times.length_ns.end());
    row.push_back(times.total_ns);
    return row;
}

std::string as_json(const std::int64_t* row) {
    JsonObject kinds;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (row[i] == 0) continue;
        kinds.raw(names[i],
                  JsonObject().integer("calls", row[i]).integer("length_ns", row[names.size() + i]).str());
    }
    return JsonObject().integer("total_ns", row[2 * names.size()]).raw("kinds", kinds.str()).str();
}

void report(const Times& times, int rank, int size, const std::string& path) {
    const std::vector<std::int64_t> row = row_of(times);
    const int length = static_cast<int>(row.size());
    std::vector<std::int64_t> all(rank == 0 ? row.size() * static_cast<std::size_t>(size) : 0);
    mpi::check(
        MPI_Gather(row.data(), length, MPI_INT64_T, all.data(), length, MPI_INT64_T, 0, MPI_COMM_WORLD),
        "MPI_Gather");
    if (rank != 0) return;
    std::vector<std::string> ranks;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
        ranks.push_back(as_json(&all[i * row.size()]));
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << JsonObject().raw("ranks", json_array(ranks)).str() << '\n';
    file.close();
    if (!file) throw EnvironmentFailure(path + ": can't be written");
}

void say(const std::string& what, int rank) {
    std::cerr << "slowpath-skeleton: error: " + what + " (rank " + std::to_string(rank) + ")\n" << std::flush;
}

/// Ranks whose scripts can't be read say so, and all end alike: a launcher may lose the output of a job that
/// is aborted.
/// @return false on every rank: one of them can't play.
bool read_scripts(const std::string& folder, int rank, int size, Script& script) {
    int is_bad = 0;
    try {
        script = parse(read_file(folder + "/rank-" + std::to_string(rank) + ".txt"));
        require_of(script, rank, size);
    } catch (const std::exception& error) {
        say(error.what(), rank);
        is_bad = 1;
    }
    int any = 0;
    mpi::check(MPI_Allreduce(&is_bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return any == 0;
}

int run(const std::string& folder, const std::string& out) {
    int rank = 0;
    int size = 1;
    try {
        mpi::check(MPI_Init(nullptr, nullptr), "MPI_Init");
        mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
        mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
        Script script;
        const bool is_played = read_scripts(folder, rank, size, script);
        if (is_played) report(play(script), rank, size, out);
        mpi::check(MPI_Finalize(), "MPI_Finalize");
        return is_played ? EXIT_SUCCESS : exit_environment;
    } catch (const std::exception& error) {
        say(error.what(), rank);
    }
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) MPI_Abort(MPI_COMM_WORLD, exit_environment);
    return exit_environment;
}

}  // namespace
}  // namespace slowpath::skeleton

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: slowpath-skeleton FOLDER OUT\n"
                     "Each rank plays FOLDER/rank-N.txt; rank 0 writes the times of all ranks into OUT.\n";
        return slowpath::skeleton::exit_usage;
    }
    return slowpath::skeleton::run(argv[1], argv[2]);
}
