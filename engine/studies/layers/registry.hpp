// SPDX-License-Identifier: Apache-2.0
/// The parts that designs() (layers/burst.hpp) is made of.
#pragma once

#include <span>
#include <string_view>

#include "layers/burst.hpp"

namespace slowpath::layers {

/// A layer is the same whether called or inlined, checked or not.
namespace meaning_of {
inline constexpr std::string_view complex =
    "MPI_Put's arguments; both datatypes are objects that are read on each call";
inline constexpr std::string_view simple =
    "MPI_Put's arguments; a predefined datatype's handle holds its size";
inline constexpr std::string_view small_args = "five arguments: so many bytes to an offset in bytes";
inline constexpr std::string_view shmem_put = "as shmem_putmem: bytes to a symmetric address";
inline constexpr std::string_view shmem_p = "as shmem_double_p: one word by value to a symmetric address";
}  // namespace meaning_of

std::span<const Design> called_designs();
std::span<const Design> inlined_designs();
std::span<const Design> limit_designs();

}  // namespace slowpath::layers
