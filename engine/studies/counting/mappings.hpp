// SPDX-License-Identifier: Apache-2.0
/// What lies where in a process: /proc/PID/maps (proc_pid_maps(5)).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath::counting {

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  ///< of `begin` in the file
    bool executable = false;
    std::string path;  ///< "" for memory without a file; "[vdso]" and the like for the kernel's
};

/// @param text Content of /proc/PID/maps; lines that are not understood are left out.
std::vector<Mapping> parse_mappings(std::string_view text);

/// @param process "self" or a process id.  @throws EnvironmentFailure: /proc can't be read.
std::vector<Mapping> read_mappings(const std::string& process);

/// Sorted by address, as the kernel lists them.  @return nullptr: nothing is mapped there.
const Mapping* find_mapping(const std::vector<Mapping>& mappings, std::uint64_t address);

}  // namespace slowpath::counting
