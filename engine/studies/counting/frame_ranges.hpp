// SPDX-License-Identifier: Apache-2.0
/// Function ranges from .eh_frame, which stripped libraries keep because exceptions need it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace slowpath::counting {

struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The ranges of all frame descriptions whose pointers are encoded in the ways that compilers use: absolute
/// or relative to the pointer's place, 4 or 8 bytes (Linux Standard Base core 5.0, section 10.6).  Others are
/// left out.
/// @param section Content of .eh_frame.  @param address Where it is loaded.
std::vector<Range> frame_ranges(std::span<const std::uint8_t> section, std::uint64_t address);

}  // namespace slowpath::counting
