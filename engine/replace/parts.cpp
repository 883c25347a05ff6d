// SPDX-License-Identifier: Apache-2.0
#include "replace/parts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "mockups/process.hpp"
#include "replace/replacements.hpp"

namespace slowpath::replace {

namespace {

std::string report_path;
std::string problem;

int world_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(text, &length);
    return {text, static_cast<std::size_t>(length)};
}

/// Rank 0's text, on every rank.
void share(std::string& text) {
    auto length = static_cast<unsigned long long>(text.size());
    PMPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    text.resize(length);
    PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
}

/// A table of each length for each number of ranks is far shorter; the length must fit an int.
constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// Nothing but a regular file: others may have no end, or nobody who writes to them.
std::string read_file(const char* path) {
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status {};
    std::string text;
    if (file < 0 || fstat(file, &status) != 0)
        problem = std::string("can't read it: ") + std::strerror(errno);
    else if (!S_ISREG(status.st_mode))
        problem = "it is no regular file";
    else
        text.resize(most_bytes + 1);
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t got = read(file, text.data() + length, text.size() - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) problem = std::string("can't read it: ") + std::strerror(errno);
        if (got <= 0) break;
        length += static_cast<std::size_t>(got);
    }
    if (file >= 0) close(file);
    if (length > most_bytes) problem = "it is longer than 16 MiB";
    text.resize(problem.empty() ? length : 0);
    return text;
}

/// What a terminal can be given: without control characters, and not endless.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 200;
    std::string made(text.substr(0, most));
    for (char& one : made)
        if (static_cast<unsigned char>(one) < ' ' || one == 0x7f) one = '?';
    return text.size() > most ? made + "..." : made;
}

/// What messages call the table.
std::string called(const char* table) {
    return *table == '{' ? "SLOWPATH_COLL" : shown(table);
}

bool begin(const char* given, const char* report) {
    const bool first = world_rank() == 0;
    report_path = first && report != nullptr ? report : "";
    share(report_path);
    std::string text = !first ? "" : *given == '{' ? given : read_file(given);
    share(text);
    share(problem);
    if (problem.empty() && !mockups::begin()) problem = "the MPI library makes no communicator for it";
    if (problem.empty()) {
        auto read = read_table(text);
        if (const auto* const wrong = std::get_if<std::string>(&read)) {
            problem = *wrong;
        } else if (const auto& table = std::get<Table>(read); names_library(table.mpi, library_version())) {
            choices().take(table);
        } else {
            std::string version = library_version();
            problem = "it is for " + shown(table.mpi) + ", the program runs with " +
                      version.substr(0, version.find_first_of(",\n"));
        }
    }
    // A library of another version on one node must not part the ranks.
    int is_fine = problem.empty() ? 1 : 0;
    int are_all_fine = 0;
    PMPI_Allreduce(&is_fine, &are_all_fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (are_all_fine != 0) return true;
    if (problem.empty()) problem = "another rank refused it";
    choices().clear();
    if (first)
        std::fprintf(stderr, "slowpath-coll: %s: %s; nothing is replaced\n", called(given).c_str(),
                     problem.c_str());
    return false;
}

void say(const char* line) {
    if (world_rank() == 0) std::fprintf(stderr, "slowpath-coll: %s\n", line);
}

std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\') made += '\\';
        made += static_cast<unsigned char>(one) < ' ' ? ' ' : one;
    }
    return made + '"';
}

std::string pair(const Range& range) {
    return "[" + std::to_string(range.from) + ", " + std::to_string(range.to) + "]";
}

void report() {
    if (report_path.empty()) return;
    std::vector<unsigned long long> calls;
    for (const Counted& one : choices().rows()) calls.push_back(one.calls.load());
    std::vector<unsigned long long> sums(calls.size());
    PMPI_Reduce(calls.data(), sums.data(), static_cast<int>(calls.size()), MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0,
                MPI_COMM_WORLD);
    if (world_rank() != 0) return;
    int ranks = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::string text = "{\"schema\": 1, \"ranks\": " + std::to_string(ranks) +
                       ", \"problem\": " + (problem.empty() ? "null" : quoted(problem)) + ", \"rows\": [";
    std::size_t i = 0;
    for (const Counted& one : choices().rows()) {
        const mockups::Mockup& mockup = *one.row.mockup;
        text += std::string(i == 0 ? "" : ", ") + "{\"collective\": \"" + std::string(name(mockup.of)) +
                "\", \"ranks\": " + pair(one.row.ranks) + ", \"bytes\": " + pair(one.row.bytes) +
                ", \"mockup\": \"" + std::string(mockup.name) + "\", \"calls\": " + std::to_string(sums[i]) +
                "}";
        ++i;
    }
    text += "]}\n";
    std::FILE* const file = std::fopen(report_path.c_str(), "we");
    const bool is_whole = file != nullptr && std::fputs(text.c_str(), file) >= 0;
    if (file == nullptr || std::fclose(file) != 0 || !is_whole)
        std::fprintf(stderr, "slowpath-coll: can't write %s: %s\n", shown(report_path).c_str(),
                     std::strerror(errno));
}

}  // namespace
}  // namespace slowpath::replace

const slowpath::replace::Parts* slowpath_coll_parts() {
    using namespace slowpath::replace;
    static const Parts parts{reinterpret_cast<const void*>(&PMPI_Init), begin,
                             [](const char* name, LastWindow* last) { return replacement(name, last); },
                             report, say};
    return &parts;
}
