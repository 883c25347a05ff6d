// SPDX-License-Identifier: Apache-2.0
// The judgement of pages, on smaps texts that no kernel has to be found for.
#include <gtest/gtest.h>

#include <sstream>

#include "memory/pages.hpp"

namespace slowpath::memory::test {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t page = 4 * kib;
constexpr std::size_t huge = 2048 * kib;
constexpr std::uintptr_t at = 0x7f0000000000;

std::string area(std::uintptr_t begin, std::size_t bytes, std::size_t rss_kib, std::size_t huge_kib,
                 const std::string& flags = "rd wr mr mw me ac") {
    std::ostringstream text;
    text << std::hex << begin << '-' << begin + bytes << " rw-p 00000000 00:00 0 \n"
         << std::dec << "Size: " << bytes / kib
         << " kB\nKernelPageSize: 4 kB\nMMUPageSize: 4 kB\nRss: " << rss_kib
         << " kB\nAnonHugePages: " << huge_kib << " kB\nShmemPmdMapped: 0 kB\nVmFlags: " << flags << " \n";
    return text.str();
}

PageReport judge(const std::string& smaps, std::uintptr_t begin, std::size_t bytes,
                 std::optional<std::size_t> resident_bytes = std::nullopt) {
    std::istringstream text(smaps);
    const auto areas = parse_smaps(text, begin, begin + bytes);
    return judge_pages(areas, begin, begin + bytes, page, huge, resident_bytes);
}

TEST(Pages, OwnArea) {
    EXPECT_EQ(judge(area(at, 4 * huge, 8192, 0), at, 4 * huge).pages, "small");
    EXPECT_EQ(judge(area(at, 4 * huge, 8192, 8192), at, 4 * huge).pages, "huge");
    EXPECT_EQ(judge(area(at, 4 * huge, 8192, 4096), at, 4 * huge).pages, "mixed");
    EXPECT_EQ(judge(area(at, 4 * huge, 0, 0), at, 4 * huge).pages, "unknown");
    EXPECT_EQ(judge(area(at, 4 * huge, 8192, 4096), at, 4 * huge).huge_bytes, 2 * huge);
    // A tail that no huge page can hold leaves the range huge; the count stays exact.
    const auto tail = judge(area(at, 4 * huge + page, 8196, 8192), at, 4 * huge + 1);
    EXPECT_EQ(tail.pages, "huge");
    EXPECT_EQ(tail.huge_bytes, 4 * huge);
}

TEST(Pages, SharedAndHugetlb) {
    EXPECT_EQ(judge(area(at, 4 * huge, 8192, 0, "rd wr sh mr"), at, 4 * huge).pages, "shared");
    const std::string hugetlb =
        "7f0000000000-7f0000200000 rw-p 0 00:00 0\nKernelPageSize: 2048 kB\nRss: 0 kB\n"
        "Private_Hugetlb: 2048 kB\nVmFlags: rd wr ht \n";
    const auto report = judge(hugetlb, at, huge);
    EXPECT_EQ(report.pages, "huge");
    EXPECT_EQ(report.page_bytes, huge);
    EXPECT_EQ(report.huge_bytes, huge);
}

TEST(Pages, MergedArea) {
    const auto mixed = judge(area(at - huge, 8 * huge, 16384, 4096), at, 4 * huge);
    EXPECT_EQ(mixed.pages, "unknown");
    EXPECT_FALSE(mixed.huge_bytes.has_value());
    EXPECT_EQ(judge(area(at - huge, 8 * huge, 16384, 0), at, 4 * huge).pages, "small");
    EXPECT_EQ(judge(area(at - huge, 8 * huge, 16384, 16384), at, 4 * huge).pages, "huge");
    // No page is huge, and only mincore says whether those of the range are there.
    const std::string half = area(at - huge, 8 * huge, 8192, 0);
    EXPECT_EQ(judge(half, at, 4 * huge).pages, "unknown");
    EXPECT_EQ(judge(half, at, 4 * huge).huge_bytes, std::size_t{0});
    EXPECT_EQ(judge(half, at, 4 * huge, 0).pages, "unknown");
    EXPECT_EQ(judge(half, at, 4 * huge, page).pages, "small");
}

TEST(Pages, SplitArea) {
    const std::string halves = area(at, 2 * huge, 4096, 4096) + area(at + 2 * huge, 2 * huge, 4096, 0);
    EXPECT_EQ(judge(halves, at, 4 * huge).pages, "mixed");
    EXPECT_EQ(judge(area(at, 2 * huge, 4096, 4096), at, 4 * huge).pages, "unknown");  // the rest is nowhere
    EXPECT_EQ(judge("", at, 4 * huge).pages, "unknown");
    // malloc's 16 bytes in front still are the same pages.
    EXPECT_EQ(judge(area(at, huge + page, 2052, 0), at + 16, huge).pages, "small");
}

}  // namespace

}  // namespace slowpath::memory::test
