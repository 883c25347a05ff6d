// SPDX-License-Identifier: Apache-2.0
#include "mpi/library.hpp"

#include <algorithm>
#include <array>

#include "mpi/check.hpp"

namespace slowpath::mpi {

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
