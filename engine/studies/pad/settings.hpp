// SPDX-License-Identifier: Apache-2.0
/// What the environment asks for. Read once, when the library is loaded; before that, the defaults hold.
#pragma once

#include <cstddef>

namespace slowpath::pad {

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct Settings {
    std::size_t min_bytes = 2 * mebibyte;       ///< SLOWPATH_PAD_MIN_BYTES
    std::size_t granule_bytes = 2 * mebibyte;   ///< SLOWPATH_PAD_GRANULE_BYTES
    bool host = false;                          ///< SLOWPATH_PAD_HOST
    std::size_t host_min_bytes = 4 * mebibyte;  ///< SLOWPATH_PAD_HOST_MIN_BYTES
    bool report = false;                        ///< SLOWPATH_PAD_REPORT is given
    char report_path[4096] = {};                ///< empty: stderr
};

extern constinit Settings settings;

/// Length after padding: `bytes` itself when it is below `min_bytes` or the sum would overflow.
std::size_t padded(std::size_t bytes, std::size_t min_bytes);

}  // namespace slowpath::pad
