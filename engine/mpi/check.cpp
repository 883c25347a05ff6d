// SPDX-License-Identifier: Apache-2.0
#include "mpi/check.hpp"

#include <array>

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

}  // namespace slowpath::mpi
