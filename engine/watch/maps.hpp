// SPDX-License-Identifier: Apache-2.0
/// What the kernel knows of an address: its mapping and its pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watch/intervals.hpp"

namespace slowpath::watch {

struct Region {
    Address begin = 0;
    Address end = 0;         ///< 0: the kernel knows no such address
    std::uint16_t kind = 0;  ///< memory_kinds
    bool is_length_known = false;
    std::size_t page_bytes = 0;  ///< of a mapping of huge pages; 0: base pages, or huge ones by and by
};

/// One question to the kernel, 2 us; before Linux 6.11 a scan of /proc/self/maps, 42 us.
Region region_of(Address address);

/// Pages by which [begin, end) is mapped now: of most of its bytes that are there at all.
/// One walk over the page tables (Linux 6.7); before it /proc/self/smaps, where all of the mapping answers
/// for its part, and no more once 20 ms were spent on it.
/// @return 0: none is there yet, or there is no answer.
std::size_t page_bytes_of(Address begin, Address end);

/// The kernel's base page.
std::size_t base_page_bytes();

/// For tests: as on an older kernel.
void use_text_only(bool wanted);

}  // namespace slowpath::watch
