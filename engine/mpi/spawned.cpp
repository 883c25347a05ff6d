// SPDX-License-Identifier: Apache-2.0
#include "mpi/spawned.hpp"

#include <mpi.h>

#include <filesystem>

#include "core/error.hpp"

namespace slowpath::mpi {

std::string own_program() {
    std::error_code failure;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
    if (failure) throw EnvironmentFailure("can't read /proc/self/exe: " + failure.message());
    return path.string();
}

bool be_spawned() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm parents = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parents);
    const bool is_spawned = parents != MPI_COMM_NULL;
    if (is_spawned) MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return is_spawned;
}

}  // namespace slowpath::mpi
