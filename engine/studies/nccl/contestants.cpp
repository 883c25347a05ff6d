// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <stdexcept>

#include "nccl/contestant.hpp"

namespace slowpath::nccl {
namespace {

constexpr std::array all{&by_mpi, &by_mpi_staged, &by_nccl, &by_nvshmem};

}  // namespace

std::span<const ContestantKind* const> contestants() {
    return all;
}

const ContestantKind& contestant_named(std::string_view name) {
    for (const ContestantKind* const kind : all)
        if (kind->name == name) return *kind;
    throw std::out_of_range("library");
}

}  // namespace slowpath::nccl
