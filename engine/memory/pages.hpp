// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slowpath::memory {

/// One mapping as /proc/PID/smaps shows it (Linux Documentation/filesystems/proc.rst).
struct MemoryArea {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::size_t page_bytes = 0;      ///< KernelPageSize
    std::size_t resident_bytes = 0;  ///< Rss
    std::size_t huge_bytes =
        0;                ///< AnonHugePages + ShmemPmdMapped + FilePmdMapped; hugetlbfs: all that is resident
    bool shared = false;  ///< VmFlags sh
};

struct PageReport {
    std::string pages;                      ///< small, huge, mixed, shared, unknown
    std::optional<std::size_t> huge_bytes;  ///< nullopt when it can't be attributed
    std::size_t page_bytes;
};

/// The areas of an smaps text that overlap [begin, end). A line that is not understood is passed over.
std::vector<MemoryArea> parse_smaps(std::istream& smaps, std::uintptr_t begin, std::uintptr_t end);

/// Judge the pages of [begin, end) by the areas that overlap it. The kernel counts per area: an area that
/// reaches beyond the pages of the range is judged only when its counts leave one answer (no huge page at
/// all, or nothing but huge pages, all of it resident); otherwise the answer is `unknown`. `huge`: of what is
/// resident, less than one huge page stands in small pages (a tail that can't be huge). Folios between the
/// two sizes (mTHP) count as small: smaps does not show them.
PageReport judge_pages(std::span<const MemoryArea> areas, std::uintptr_t begin, std::uintptr_t end,
                       std::size_t base_page_bytes, std::size_t huge_page_bytes,
                       std::optional<std::size_t> resident_bytes = std::nullopt);

/// judge_pages of this process's own range; `unknown` when /proc/self/smaps can't be read.
PageReport observe_pages(const std::byte* begin, std::size_t bytes);

/// The size of a transparent huge page, bytes; 2 MiB where the kernel does not say.
std::size_t huge_page_bytes();

}  // namespace slowpath::memory
