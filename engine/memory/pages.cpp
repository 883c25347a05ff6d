// SPDX-License-Identifier: Apache-2.0
#include "memory/pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "memory/allocation.hpp"

namespace slowpath::memory {
namespace {

constexpr std::size_t kibibyte = 1024;

/// "7f00-7f10 rw-p ..." -> the two addresses; nullopt for the other lines, "Rss: 4 kB" and the like.
std::optional<MemoryArea> parse_header(std::string_view line) {
    MemoryArea area;
    const char* const last = line.data() + line.size();
    const auto low = std::from_chars(line.data(), last, area.begin, 16);
    if (low.ec != std::errc() || low.ptr == last || *low.ptr != '-') return std::nullopt;
    const auto high = std::from_chars(low.ptr + 1, last, area.end, 16);
    if (high.ec != std::errc() || high.ptr == last || *high.ptr != ' ') return std::nullopt;
    return area;
}

void parse_field(const std::string& line, MemoryArea& area, bool& hugetlb) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "VmFlags:") {
        for (std::string flag; words >> flag;) {
            area.shared = area.shared || flag == "sh";
            hugetlb = hugetlb || flag == "ht";
        }
        return;
    }
    std::size_t kibibytes = 0;
    if (!(words >> kibibytes)) return;
    if (key == "KernelPageSize:") area.page_bytes = kibibytes * kibibyte;
    if (key == "Rss:" || key == "Shared_Hugetlb:" || key == "Private_Hugetlb:")
        area.resident_bytes += kibibytes * kibibyte;
    if (key == "AnonHugePages:" || key == "ShmemPmdMapped:" || key == "FilePmdMapped:")
        area.huge_bytes += kibibytes * kibibyte;
}

struct Totals {
    std::size_t resident_bytes = 0;
    std::size_t huge_bytes = 0;
    std::size_t covered_bytes = 0;
    std::size_t page_bytes = 0;
    bool resident_known = true;
    bool shared = true;  // every area
};

/// Add the part of `area` within [begin, end); false when its counts can't be attributed to that part.
bool attribute(const MemoryArea& area, std::uintptr_t begin, std::uintptr_t end, Totals& totals) {
    const std::size_t part_bytes = std::min(area.end, end) - std::max(area.begin, begin);
    const std::size_t area_bytes = area.end - area.begin;
    const bool whole = part_bytes == area_bytes;
    const bool none_huge = area.huge_bytes == 0;
    const bool all_huge = area.huge_bytes == area_bytes;
    if (!whole && !none_huge && !all_huge) return false;
    totals.huge_bytes += whole ? area.huge_bytes : (none_huge ? 0 : part_bytes);
    totals.resident_bytes += whole ? area.resident_bytes : part_bytes;
    totals.resident_known = totals.resident_known && (whole || area.resident_bytes == area_bytes);
    totals.covered_bytes += part_bytes;
    return true;
}

/// Bytes of the range that are in memory, by mincore(2); nullopt if it does not say.
std::optional<std::size_t> count_resident(std::uintptr_t begin, std::size_t bytes) {
    const std::size_t page_bytes = system_page_bytes();
    const std::uintptr_t first = begin / page_bytes * page_bytes;
    const std::size_t pages = (begin + bytes - first + page_bytes - 1) / page_bytes;
    std::vector<unsigned char> flags(pages);
    if (mincore(reinterpret_cast<void*>(first), pages * page_bytes, flags.data()) != 0) return std::nullopt;
    return page_bytes *
           static_cast<std::size_t>(std::ranges::count_if(flags, [](auto flag) { return (flag & 1) != 0; }));
}

const char* word_for(const Totals& totals, std::size_t huge_page_bytes) {
    if (totals.shared) return "shared";
    if (totals.resident_bytes == 0) return "unknown";
    if (totals.huge_bytes == 0) return "small";
    // A file-backed huge mapping may count more than is resident here; nothing small is left then either.
    const std::size_t small_bytes =
        totals.resident_bytes - std::min(totals.huge_bytes, totals.resident_bytes);
    return small_bytes < huge_page_bytes ? "huge" : "mixed";
}

}  // namespace

std::vector<MemoryArea> parse_smaps(std::istream& smaps, std::uintptr_t begin, std::uintptr_t end) {
    std::vector<MemoryArea> areas;
    std::string line;
    bool wanted = false;
    bool hugetlb = false;
    const auto close = [&] {
        if (wanted && hugetlb) areas.back().huge_bytes = areas.back().resident_bytes;
        hugetlb = false;
    };
    while (std::getline(smaps, line)) {
        if (const auto header = parse_header(line)) {
            close();
            wanted = header->begin < end && header->end > begin;
            if (wanted) areas.push_back(*header);
        } else if (wanted) {
            parse_field(line, areas.back(), hugetlb);
        }
    }
    close();
    return areas;
}

PageReport judge_pages(std::span<const MemoryArea> areas, std::uintptr_t begin, std::uintptr_t end,
                       std::size_t base_page_bytes, std::size_t huge_page_bytes,
                       std::optional<std::size_t> resident_bytes) {
    const std::uintptr_t mask = base_page_bytes - 1;
    begin &= ~mask;
    end = (end + mask) & ~mask;
    PageReport report{"unknown", std::nullopt, base_page_bytes};
    Totals totals;
    for (const MemoryArea& area : areas) {
        if (area.begin >= end || area.end <= begin) continue;
        if (area.page_bytes > report.page_bytes) report.page_bytes = area.page_bytes;
        totals.shared = totals.shared && area.shared;
        if (!attribute(area, begin, end, totals)) return report;
    }
    if (totals.covered_bytes != end - begin || begin == end) return report;
    report.huge_bytes = totals.huge_bytes;
    if (!totals.resident_known && !resident_bytes) return report;
    if (!totals.resident_known) totals.resident_bytes = *resident_bytes;
    report.pages = word_for(totals, huge_page_bytes);
    return report;
}

PageReport observe_pages(const std::byte* begin, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t length = bytes == 0 ? 1 : bytes;  // an empty allocation still has its page
    std::ifstream smaps("/proc/self/smaps");
    const auto areas = parse_smaps(smaps, first, first + length);
    return judge_pages(areas, first, first + length, system_page_bytes(), huge_page_bytes(),
                       count_resident(first, length));
}

std::size_t huge_page_bytes() {
    // On arm64 the size follows the base page: 2 MiB, 32 MiB or 512 MiB.
    static const std::size_t bytes = [] {
        std::size_t size_bytes = 0;
        std::ifstream file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        return file >> size_bytes && size_bytes > 0 ? size_bytes : std::size_t{2} << 20;
    }();
    return bytes;
}

}  // namespace slowpath::memory
