// SPDX-License-Identifier: Apache-2.0
/// /proc/self/maps and smaps, read piece by piece: for kernels that answer no questions about one address.
#pragma once

#include <cstdint>

#include "watch/intervals.hpp"

namespace slowpath::watch {

struct KernelMap {
    Address begin = 0;
    Address end = 0;  ///< 0: there is none
    bool is_shared = false;
    std::size_t page_bytes = 0;  ///< 0: the text doesn't say
    char name[256] = {};
};

struct KernelPages {
    std::uint64_t present_bytes = 0;
    std::uint64_t huge_bytes = 0;
    std::uint64_t page_bytes = 0;
};

/// @return false: it can't be read.
bool find_in_maps(Address address, KernelMap& map);

/// @return false: it can't be read, or holds no such address.
bool find_in_smaps(Address address, KernelPages& pages);

}  // namespace slowpath::watch
