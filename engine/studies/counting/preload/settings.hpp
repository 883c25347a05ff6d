// SPDX-License-Identifier: Apache-2.0
/// What libslowpath-count.so is to do, from the environment.
#pragma once

#include <climits>
#include <cstdint>

namespace slowpath::counting::preload {

struct Settings {
    const char* function = nullptr;  ///< SLOWPATH_COUNT_CALL; nullptr: the library does nothing
    const char* folder = nullptr;    ///< SLOWPATH_COUNT_FOLDER, an absolute path
    std::uint64_t calls = 64;        ///< SLOWPATH_COUNT_CALLS: how many are counted in each process
    std::uint64_t skip = 0;          ///< SLOWPATH_COUNT_SKIP: how many are let through before
    std::uint64_t most = 4000000;    ///< SLOWPATH_COUNT_MOST: a call with more instructions is given up
    const char* rank = nullptr;      ///< as the launcher states it, nullptr if it doesn't
};

/// Read once, at the start of the process.
const Settings& settings();

/// @return Whether there is anything to do.
bool read_settings();

}  // namespace slowpath::counting::preload
