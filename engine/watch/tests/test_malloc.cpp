// SPDX-License-Identifier: Apache-2.0
/// The functions that stand in for the C library's: what they return, and what is known after them.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "watch/allocations.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t kibibyte = 1024, mebibyte = kibibyte * kibibyte, page = 4096;

std::size_t block_bytes(const void* address) {
    return known_bytes(Layer::blocks, reinterpret_cast<Address>(address));
}

std::size_t mapping_bytes(const void* address) {
    return known_bytes(Layer::mappings, reinterpret_cast<Address>(address));
}

/// Each large block is known from one end to the other, and nothing else is.
TEST(Malloc, RandomBlocksAreKnownAsAModelHasThem) {
    std::mt19937 random(3);
    const auto below = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    std::map<char*, std::size_t> model;
    const auto forget = [&](auto it) {
        char* const block = it->first;
        model.erase(it);
        return block;
    };
    for (int step = 0; step < 6000; ++step) {
        std::size_t bytes = 1 + below(below(3) == 0 ? 4 * mebibyte : 100 * kibibyte);
        auto victim =
            model.empty() ? model.end() : std::next(model.begin(), static_cast<long>(below(model.size())));
        void* block = nullptr;
        errno = 42;
        switch (below(8)) {
            case 0:
                block = std::malloc(bytes);
                break;
            case 1:
                block = std::calloc(3, (bytes + 2) / 3);
                bytes = (bytes + 2) / 3 * 3;
                break;
            case 2:
                ASSERT_EQ(posix_memalign(&block, 4096, bytes), 0);
                break;
            case 3:
                block = aligned_alloc(64, bytes);
                break;
            case 4:
                block = memalign(256, bytes);
                break;
            case 5:
                if (victim == model.end()) continue;
                block = std::realloc(forget(victim), bytes);
                break;
            default:
                if (victim != model.end()) {
                    char* const gone = forget(victim);
                    std::free(gone);
                    ASSERT_EQ(block_bytes(gone), 0U);
                }
                ASSERT_EQ(errno, 42);
                continue;
        }
        ASSERT_EQ(errno, 42);
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, std::min<std::size_t>(bytes, 64));
        model[static_cast<char*>(block)] = bytes;
        if (model.size() > 200) std::free(forget(model.begin()));
        for (const auto& [begin, length] : model) {
            if (below(20) != 0) continue;
            const std::size_t wanted = length >= 64 * kibibyte ? length : 0;
            ASSERT_EQ(block_bytes(begin), wanted);
            ASSERT_EQ(block_bytes(begin + length - 1), wanted);
        }
    }
    for (const auto& [begin, length] : model) std::free(begin);
}

TEST(Malloc, WhatCantBeHadLeavesErrnoAndTheOldBlock) {
    volatile std::size_t too_many = SIZE_MAX / 2;
    void* const block = std::malloc(mebibyte);
    errno = 0;
    EXPECT_EQ(std::realloc(block, too_many), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(block_bytes(block), mebibyte);
    errno = 0;
    EXPECT_EQ(std::malloc(too_many), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(std::calloc(too_many, 3), nullptr);
    EXPECT_EQ(reallocarray(nullptr, too_many, 3), nullptr);
    errno = 0;
    EXPECT_NE(posix_memalign(const_cast<void**>(&block), 3, mebibyte), 0);
    EXPECT_EQ(errno, 0);
    std::free(block);
    EXPECT_EQ(block_bytes(block), 0U);
    std::free(nullptr);
}

TEST(Malloc, AReallocInPlaceIsTheSameAllocation) {
    auto* const block = static_cast<char*>(std::malloc(8 * mebibyte));
    find_place(reinterpret_cast<Address>(block)).allocation->is_used = true;
    auto* const less = static_cast<char*>(std::realloc(block, 4 * mebibyte));
    EXPECT_EQ(block_bytes(less), 4 * mebibyte);
    EXPECT_EQ(find_place(reinterpret_cast<Address>(less)).allocation->is_used, less == block);
    EXPECT_EQ(block_bytes(less + 5 * mebibyte), 0U);
    std::free(less);
}

TEST(Malloc, KindsOfBlocks) {
    // Grown from the heap, since one of this length was freed: the C library maps only longer ones then.
    std::free(std::malloc(mebibyte));
    void* const large = std::malloc(40 * mebibyte);
    void* const small = std::malloc(200 * kibibyte);
    EXPECT_EQ(find_place(reinterpret_cast<Address>(large)).allocation->kind, kind::mapping);
    EXPECT_EQ(find_place(reinterpret_cast<Address>(small)).allocation->kind, kind::heap);
    std::free(large);
    std::free(small);
}

TEST(Malloc, AForkedChildAllocatesWhileThreadsDo) {
    std::atomic<bool> ends{false};
    std::vector<std::thread> all;
    for (int i = 0; i < 2; ++i)
        all.emplace_back([&] {
            while (!ends) std::free(std::malloc(100 * kibibyte));
        });
    int failures = 0;
    for (int i = 0; i < 10; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (int k = 0; k < 10; ++k) std::free(std::malloc(100 * kibibyte));
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        failures += status != 0;
    }
    ends = true;
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(failures, 0);
}

TEST(Mmap, PartsThatAreUnmappedAreNotKnown) {
    auto* const map = static_cast<char*>(
        mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mapping_bytes(map + 15 * page), 16 * page);
    EXPECT_EQ(munmap(map + 4 * page, 4 * page), 0);
    EXPECT_EQ(mapping_bytes(map), 4 * page);
    EXPECT_EQ(mapping_bytes(map + 4 * page), 0U);
    EXPECT_EQ(mapping_bytes(map + 8 * page), 8 * page);
    errno = 0;
    EXPECT_EQ(munmap(map + 1, page), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(mapping_bytes(map), 4 * page);
    EXPECT_EQ(munmap(map, 16 * page), 0);
    EXPECT_EQ(mapping_bytes(map), 0U);
    EXPECT_EQ(mapping_bytes(map + 8 * page), 0U);
}

TEST(Mmap, RemappedMappings) {
    auto* map = static_cast<char*>(
        mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mremap(map, 16 * page, 8 * page, 0), map);
    EXPECT_EQ(mapping_bytes(map), 8 * page);
    void* const room = mmap(nullptr, 64 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(mremap(map, 8 * page, 32 * page, MREMAP_MAYMOVE | MREMAP_FIXED, room), room);
    EXPECT_EQ(mapping_bytes(map), 0U);
    EXPECT_EQ(mapping_bytes(room), 32 * page);
    EXPECT_EQ(mapping_bytes(static_cast<char*>(room) + 32 * page), 32 * page);
    errno = 0;
    EXPECT_EQ(mremap(room, 32 * page, std::size_t{1} << 46, MREMAP_MAYMOVE), MAP_FAILED);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(mapping_bytes(room), 32 * page);
    munmap(room, 64 * page);
}

TEST(Mmap, FixedMappingsReplaceOthers) {
    auto* const map = static_cast<char*>(
        mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mmap(map + 4 * page, 4 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    EXPECT_EQ(find_place(reinterpret_cast<Address>(map + 5 * page)).allocation->kind, kind::shared);
    EXPECT_EQ(mapping_bytes(map + 5 * page), 4 * page);
    EXPECT_EQ(mapping_bytes(map), 4 * page);
    munmap(map, 16 * page);
}

TEST(Mmap, SystemVsSharedMemory) {
    const int segment = shmget(IPC_PRIVATE, 100000, 0600 | IPC_CREAT);
    if (segment < 0) return;
    void* const map = shmat(segment, nullptr, 0);
    shmctl(segment, IPC_RMID, nullptr);
    ASSERT_NE(map, MAP_FAILED);
    EXPECT_EQ(mapping_bytes(map), 102400U);
    EXPECT_EQ(shmdt(map), 0);
    EXPECT_EQ(mapping_bytes(map), 0U);
}

}  // namespace
}  // namespace slowpath::watch
