// SPDX-License-Identifier: Apache-2.0
/// The command lines of the two reproducers, checked before MPI starts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "memory/buffer.hpp"

namespace slowpath::reproducers {

using Words = std::span<const std::string_view>;

struct OverallocArguments {
    std::int64_t num_iterations;
    std::int64_t num_sub_iterations;
    std::int64_t p2p_bytes;
    std::int64_t buffer_bytes;
    std::int64_t overalloc_bytes;
    memory::Kind memory;
};

struct PinnedHostArguments {
    std::int64_t num_iterations;
    std::int64_t num_sub_iterations;
    memory::Kind memory;
    std::int64_t p2p_bytes;
};

/// @param words argv without the program's name.  @throws UsageError that says what is wrong and what would
/// be right.
OverallocArguments parse_overalloc(Words words);
PinnedHostArguments parse_pinned_host(Words words);

/// What follows the name of the program.
extern const std::string_view overalloc_usage;
extern const std::string_view pinned_host_usage;

}  // namespace slowpath::reproducers
