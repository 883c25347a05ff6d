// SPDX-License-Identifier: Apache-2.0
/// Both ways to ask the kernel, on mappings of each kind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "watch/allocations.hpp"
#include "watch/maps.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
int in_bss[100000];

Address address_of(const void* pointer) {
    return reinterpret_cast<Address>(pointer);
}

/// Whether the system gives huge pages to who asks.
bool gives_huge_pages() {
    char text[64] = {};
    std::FILE* const file = std::fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file == nullptr) return false;
    const bool read = std::fgets(text, sizeof text, file) != nullptr;
    std::fclose(file);
    return read && std::strstr(text, "[never]") == nullptr;
}

class Maps : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override { use_text_only(GetParam()); }
    void TearDown() override { use_text_only(false); }
};

TEST_P(Maps, StackHeapStaticDataAndHoles) {
    const int local = 0;
    EXPECT_EQ(region_of(address_of(&local)).kind, kind::stack);
    EXPECT_EQ(region_of(address_of(in_bss)).kind, kind::static_data);
    EXPECT_EQ(region_of(address_of(sbrk(0)) - 1).kind, kind::heap);
    EXPECT_EQ(region_of(16).end, 0U);
    EXPECT_EQ(region_of(Address{1} << 60).end, 0U);
}

TEST_P(Maps, AThreadsStack) {
    std::uint16_t found = 0;
    std::thread([&] {
        const int local = 0;
        found = region_of(address_of(&local)).kind;
    }).join();
    EXPECT_EQ(found, kind::stack);
}

TEST_P(Maps, MappingsAreNotStacks) {
    void* const anonymous =
        mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* const shared = mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int memory = memfd_create("test", 0);
    ASSERT_EQ(ftruncate(memory, mebibyte), 0);
    void* const descriptor = mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    const int program = open("/proc/self/exe", O_RDONLY);
    void* const file = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, program, 0);
    EXPECT_EQ(region_of(address_of(anonymous)).kind, kind::mapping);
    EXPECT_EQ(region_of(address_of(shared)).kind, kind::shared);
    EXPECT_EQ(region_of(address_of(descriptor)).kind, kind::shared);
    EXPECT_EQ(region_of(address_of(file)).kind, kind::file);
    EXPECT_EQ(region_of(address_of(descriptor) + 5).begin, address_of(descriptor));
    munmap(anonymous, mebibyte);
    munmap(shared, mebibyte);
    munmap(descriptor, mebibyte);
    munmap(file, 8192);
    close(memory);
    close(program);
}

TEST_P(Maps, PagesAreKnownOnceTheyAreWritten) {
    constexpr std::size_t bytes = 8 * mebibyte;
    auto* const plain =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(plain, bytes, MADV_NOHUGEPAGE);
    const Address begin = address_of(plain);
    EXPECT_EQ(page_bytes_of(begin, begin + bytes), 0U);
    std::memset(plain, 1, bytes);
    EXPECT_EQ(page_bytes_of(begin + 100, begin + bytes), base_page_bytes());
    munmap(plain, bytes);
}

TEST_P(Maps, HugePages) {
    if (!gives_huge_pages()) return;
    constexpr std::size_t bytes = 8 * mebibyte;
    auto* const huge =
        static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(huge, bytes, MADV_HUGEPAGE);
    std::memset(huge, 1, bytes);
    const Address inside = (address_of(huge) + 2 * mebibyte) & ~(2 * mebibyte - 1);
    EXPECT_EQ(page_bytes_of(inside, inside + 2 * mebibyte), 2 * mebibyte);
    munmap(huge, bytes);
}

TEST_P(Maps, HugePagesOfAPool) {
    constexpr std::size_t bytes = 2 * mebibyte;
    void* const pool =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (pool == MAP_FAILED) return;  // the administrator reserved none
    static_cast<char*>(pool)[0] = 1;
    EXPECT_EQ(region_of(address_of(pool)).kind, kind::mapping);
    const std::size_t page_bytes = GetParam() ? page_bytes_of(address_of(pool), address_of(pool) + bytes)
                                              : region_of(address_of(pool)).page_bytes;
    EXPECT_EQ(page_bytes, bytes);
    munmap(pool, bytes);
}

INSTANTIATE_TEST_SUITE_P(Questions, Maps, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Text, Maps, testing::Values(true));

}  // namespace
}  // namespace slowpath::watch
