// SPDX-License-Identifier: Apache-2.0
/// From the instructions that a thread executed to calls: pure, so that it can be tested without stepping.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace slowpath::counting {

/// The address of each executed instruction in order; the top bit is set on rep-prefixed string instructions.
using Traced = std::uint64_t;

inline constexpr Traced repeated_bit = std::uint64_t{1} << 63;

inline constexpr std::uint64_t address_of(Traced traced) {
    return traced & ~repeated_bit;
}

/// One iteration after another of the same instruction: one retired instruction.
inline constexpr bool is_next_iteration(Traced before, Traced now) {
    return now == before && (now & repeated_bit) != 0;
}

struct Calls {
    std::vector<std::uint32_t> stepped;       ///< per call, instructions outside the program's own text
    std::vector<std::uint32_t> retired;       ///< the same, iterations of one rep-prefixed instruction as one
    std::vector<std::uint64_t> instructions;  ///< addresses of all of them, sorted
};

/// A call is a longest run of instructions that are not `own`.
Calls split_calls(std::span<const Traced> trace, const std::function<bool(std::uint64_t)>& own);

}  // namespace slowpath::counting
