// SPDX-License-Identifier: Apache-2.0
#include "mpi/session.hpp"

#include <algorithm>
#include <array>

#include "core/clock.hpp"

namespace slowpath::mpi {

namespace {

std::string text_of(const char* call, int code) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    const bool known = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
    std::string line = std::string(call) + ": " + (known ? text.data() : "error " + std::to_string(code));
    for (char& letter : line)
        if (letter == '\n') letter = ' ';
    return line;
}

}  // namespace

Error::Error(const char* call, int code, const std::source_location& where)
    : std::runtime_error(text_of(call, code)), where_(where) {}

Session::Session() {
    const MonotonicClock clock;
    times_ = process_times();
    times_.entered_ns = clock.now_ns();
    thread_levels_ = initialise();
    times_.initialised_ns = clock.now_ns();
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    first_peers_ = meet_peers(MPI_COMM_WORLD);
    times_.duplicate_begin_ns = clock.now_ns();
    check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
    times_.duplicate_end_ns = clock.now_ns();
    check(MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    times_.split_end_ns = clock.now_ns();
    check(MPI_Comm_rank(node, &node_rank_), "MPI_Comm_rank");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
}

void Session::finish() {
    check(MPI_Comm_free(&control_), "MPI_Comm_free");
    check(MPI_Finalize(), "MPI_Finalize");
}

// MPI_Finalize waits for the other ranks, which would hang a job in which only one rank has failed.
Session::~Session() = default;

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    std::string line(text.data());
    line.resize(std::min(line.find_first_of("\r\n"), line.size()));
    for (char& letter : line)
        if (letter == '\t') letter = ' ';
    return line;
}

std::string standard_version() {
    int major = 0, minor = 0;
    check(MPI_Get_version(&major, &minor), "MPI_Get_version");
    return std::to_string(major) + "." + std::to_string(minor);
}

void* allocate_memory(std::size_t bytes) {
    void* memory = nullptr;
    check(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory), "MPI_Alloc_mem");
    return memory;
}

void free_memory(void* memory) {
    check(MPI_Free_mem(memory), "MPI_Free_mem");
}

}  // namespace slowpath::mpi
