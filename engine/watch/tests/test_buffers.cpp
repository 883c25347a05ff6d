// SPDX-License-Identifier: Apache-2.0
/// The buffers of a program as a record has them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kept_rows.hpp"
#include "watch/allocations.hpp"
#include "watch/buffers.hpp"
#include "watch/maps.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20, page = 4096;
int in_bss[100000];

unsigned kind_in(const BufferView& view) {
    return view.buffer_class & 15U;
}
unsigned page_in(const BufferView& view) {
    return view.buffer_class >> 4 & 3U;
}
unsigned start_in(const BufferView& view) {
    return view.buffer_class >> 6 & 3U;
}
constexpr unsigned is_odd = 1 << 8, is_length_known = 1 << 9, is_no_buffer = 1 << 10;

class Buffers : public testing::Test {
  protected:
    void SetUp() override { keep_rows_anew(); }
    static layout::Allocation row(const BufferView& view) { return sections().allocations[view.allocation]; }
};

TEST_F(Buffers, AFirstUseAndLaterOnes) {
    char* const block = static_cast<char*>(std::malloc(mebibyte + 100));
    std::memset(block, 1, mebibyte);
    const BufferView first = view_buffer(block, 1000), later = view_buffer(block + 5000, 1000);
    EXPECT_TRUE(first.is_first);
    EXPECT_FALSE(later.is_first);
    EXPECT_EQ(first.allocation, later.allocation);
    EXPECT_EQ(first.allocation_bytes, mebibyte + 100);
    EXPECT_EQ(page_in(first), 1U);
    EXPECT_TRUE(first.buffer_class & is_odd);
    EXPECT_TRUE(first.buffer_class & is_length_known);
    const layout::Allocation kept = row(first);
    EXPECT_EQ(kept.address, reinterpret_cast<std::uint64_t>(block));
    EXPECT_EQ(kept.bytes, mebibyte + 100);
    EXPECT_EQ(kept.page_bytes, base_page_bytes());
    EXPECT_EQ(kept.buffer_class, later.buffer_class);
    std::free(block);
    void* const again = std::malloc(mebibyte + 100);
    EXPECT_TRUE(view_buffer(again, 1000).is_first);
    std::free(again);
}

TEST_F(Buffers, SmallBlocksAreOfTheHeapAsAWhole) {
    void* const block = std::malloc(100);
    const BufferView view = view_buffer(block, 100);
    EXPECT_EQ(kind_in(view), kind::heap);
    EXPECT_EQ(page_in(view), 1U);
    EXPECT_FALSE(view.buffer_class & is_length_known);
    EXPECT_EQ(view.allocation_bytes, 0U);
    std::free(block);
}

TEST_F(Buffers, ALargeBlockInTheHeapIsNotTheHeap) {
    char* const small = static_cast<char*>(std::malloc(1000));
    view_buffer(small, 100);
    // Below the length from which the C library maps, and near the small one.
    std::free(std::malloc(mebibyte));
    char* const large = static_cast<char*>(std::malloc(100000));
    const BufferView view = view_buffer(large, 100000);
    EXPECT_TRUE(view.is_first);
    EXPECT_EQ(view.allocation_bytes, 100000U);
    EXPECT_EQ(view_buffer(small, 100).allocation_bytes, 0U);
    std::free(large);
    EXPECT_EQ(view_buffer(large, 100).allocation_bytes, 0U);
    std::free(small);
}

TEST_F(Buffers, StackAndStaticData) {
    char local[1000] = {};
    EXPECT_EQ(kind_in(view_buffer(local, sizeof local)), kind::stack);
    EXPECT_EQ(kind_in(view_buffer(in_bss, sizeof in_bss)), kind::static_data);
    EXPECT_FALSE(view_buffer(in_bss + 7, 4).is_first);
}

TEST_F(Buffers, SharedMemoryThatIsAFile) {
    const int memory = memfd_create("test", 0);
    ASSERT_EQ(ftruncate(memory, mebibyte), 0);
    void* const map = mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    const BufferView view = view_buffer(map, 1000);
    EXPECT_EQ(kind_in(view), kind::shared);
    EXPECT_EQ(view.allocation_bytes, mebibyte);
    EXPECT_FALSE(view.buffer_class & is_odd);
    munmap(map, mebibyte);
    close(memory);
}

TEST_F(Buffers, PagesAreAskedForAgainUntilTheyAreThere) {
    char* const block = static_cast<char*>(std::malloc(40 * mebibyte));
    const BufferView before = view_buffer(block + page, mebibyte);
    EXPECT_EQ(page_in(before), 0U);
    std::memset(block, 1, 2 * mebibyte);
    const BufferView after = view_buffer(block + page, mebibyte);
    EXPECT_NE(page_in(after), 0U);
    EXPECT_EQ(after.allocation, before.allocation);
    EXPECT_FALSE(after.is_first);
    EXPECT_NE(row(after).page_bytes, 0U);
    std::free(block);
}

TEST_F(Buffers, PagesThatBecomeLargeAreMetLater) {
    constexpr std::size_t bytes = 4 * mebibyte;
    auto* const map = static_cast<char*>(
        mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char* const inside = map + (2 * mebibyte - reinterpret_cast<Address>(map) % (2 * mebibyte));
    madvise(map, 2 * bytes, MADV_NOHUGEPAGE);
    std::memset(map, 1, 2 * bytes);
    EXPECT_EQ(page_in(view_buffer(inside, bytes)), 1U);
    madvise(map, 2 * bytes, MADV_HUGEPAGE);
    constexpr int collapse = 25;  // MADV_COLLAPSE, Linux 6.1
    if (madvise(inside, bytes, collapse) == 0) {
        for (int i = 0; i < 200; ++i) view_buffer(inside, bytes);
        EXPECT_EQ(page_in(view_buffer(inside, bytes)), 3U);
    }
    munmap(map, 2 * bytes);
}

TEST_F(Buffers, Starts) {
    char* const block = static_cast<char*>(aligned_alloc(page, mebibyte));
    EXPECT_EQ(start_in(view_buffer(block, 10)), 1U);
    EXPECT_EQ(start_in(view_buffer(block + 128, 10)), 2U);
    EXPECT_EQ(start_in(view_buffer(block + 129, 10)), 3U);
    std::free(block);
}

TEST_F(Buffers, NoBytesAndNoMemory) {
    EXPECT_EQ(view_buffer(in_bss, 0).buffer_class, is_no_buffer);
    EXPECT_EQ(view_buffer(in_bss, 0).allocation, no_allocation);
    const BufferView nowhere = view_buffer(reinterpret_cast<void*>(64), 8);
    EXPECT_EQ(nowhere.allocation, no_allocation);
    EXPECT_EQ(kind_in(nowhere), kind::unknown);
}

TEST_F(Buffers, DeclaredMemoryCoversTheBlockThatItLiesIn) {
    char* const block = static_cast<char*>(std::malloc(4 * mebibyte));
    std::memset(block, 1, 4 * mebibyte);
    EXPECT_NE(kind_in(view_buffer(block + mebibyte, 8)), kind::pinned);
    allocated(block + mebibyte, mebibyte, kind::pinned, 0);
    const BufferView pinned = view_buffer(block + mebibyte, 8);
    EXPECT_EQ(kind_in(pinned), kind::pinned);
    EXPECT_TRUE(pinned.is_first);
    EXPECT_EQ(pinned.allocation_bytes, mebibyte);
    EXPECT_EQ(view_buffer(block, 8).allocation_bytes, 4 * mebibyte);
    EXPECT_EQ(view_buffer(block + 2 * mebibyte, 8).allocation_bytes, 4 * mebibyte);
    freed(block + mebibyte);
    EXPECT_EQ(view_buffer(block + mebibyte, 8).allocation_bytes, 4 * mebibyte);
    std::free(block);
}

TEST_F(Buffers, WithoutRoomForARowTheClassIsStillKnown) {
    keep_rows_anew(1);
    std::vector<void*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(std::calloc(1, mebibyte));
    EXPECT_EQ(view_buffer(blocks[0], 8).allocation, 0U);
    const BufferView view = view_buffer(blocks[1], 8);
    EXPECT_EQ(view.allocation, no_allocation);
    EXPECT_TRUE(view.is_first);
    EXPECT_EQ(view.allocation_bytes, mebibyte);
    view_buffer(blocks[2], 8);
    EXPECT_EQ(lost_allocations(), 2U);
    for (void* const block : blocks) std::free(block);
}

TEST_F(Buffers, ThreadsThatUseOneBlockMeetItFirstOnce) {
    constexpr int threads = 8, rounds = 2000;
    char* const block = static_cast<char*>(std::calloc(1, 8 * mebibyte));
    std::vector<int> firsts(threads);
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([=, &firsts] {
            for (int i = 0; i < rounds; ++i) {
                // Memory of the thread's own comes and goes meanwhile.
                void* const own = std::malloc(200000);
                firsts[static_cast<std::size_t>(thread)] +=
                    view_buffer(block + thread * mebibyte, 100).is_first;
                EXPECT_TRUE(view_buffer(own, 100).is_first);
                std::free(own);
            }
        });
    for (std::thread& thread : all) thread.join();
    int sum = 0;
    for (const int count : firsts) sum += count;
    EXPECT_EQ(sum, 1);
    std::free(block);
}

}  // namespace
}  // namespace slowpath::watch
