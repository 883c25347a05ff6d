// SPDX-License-Identifier: Apache-2.0
/// The command line of slowpath-count-ptrace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slowpath::counting::ptrace {

struct Options {
    std::string function;
    std::string folder;
    std::uint64_t calls = 64;
    std::uint64_t skip = 0;
    std::uint64_t most = 4000000;
    std::vector<std::string> program;
};

extern const char* const usage;

/// @param words Without the command's own name.  @throws UsageError
Options parse_options(std::span<const std::string> words);

}  // namespace slowpath::counting::ptrace
