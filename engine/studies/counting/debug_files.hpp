// SPDX-License-Identifier: Apache-2.0
/// Where the symbols of a stripped file may lie: files that the system keeps apart (gdb manual, "Debugging
/// Information in Separate Files"), and what a debuginfod client has fetched before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slowpath::counting {

/// A whole file; empty if it can't be read.
std::vector<std::uint8_t> file_content(const std::string& path);

/// The first separate file of this build: below /usr/lib/debug/.build-id, else in the cache of debuginfod
/// (DEBUGINFOD_CACHE_PATH, else XDG_CACHE_HOME or ~/.cache). Nothing is fetched.
/// @param build_id Section .note.gnu.build-id.  @return Its content; empty if there is none.
std::vector<std::uint8_t> debug_file_of_build(std::span<const std::uint8_t> build_id);

/// The separate file that `path` names: next to it, in .debug there, or below /usr/lib/debug.
/// @param link Section .gnu_debuglink: a name, and the checksum that the file must have.
/// @return Its content; empty if there is none with that checksum.
std::vector<std::uint8_t> debug_file_of_link(const std::string& path, std::span<const std::uint8_t> link);

}  // namespace slowpath::counting
