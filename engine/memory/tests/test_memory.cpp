// SPDX-License-Identifier: Apache-2.0
// Host and MPI memory on the kernel at hand.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "memory/allocation.hpp"
#include "memory/buffer.hpp"
#include "memory/pages.hpp"
#include "tests/text.hpp"

namespace slowpath::memory::test {
namespace {

using slowpath::test::thrown;

constexpr std::size_t mib = std::size_t{1} << 20;

/// The word in brackets of a transparent_hugepage setting; empty when the kernel has none.
std::string setting(const char* file) {
    std::ifstream words(std::string("/sys/kernel/mm/transparent_hugepage/") + file);
    for (std::string word; words >> word;)
        if (word.front() == '[') return word.substr(1, word.size() - 2);
    return {};
}

Request host(Pages pages, std::size_t bytes, Touch touch = Touch::write) {
    return {
        .kind = Kind::host, .pages = pages, .bytes = bytes, .offset_bytes = 0, .touch = touch, .device = 0};
}

TEST(Memory, Names) {
    for (const KindEntry* kind : registry()) EXPECT_EQ(kind_from(kind->name), kind->kind);
    for (const char* word : {"default", "small", "huge", "shared"})
        EXPECT_EQ(std::string(name(*pages_from(word))), word);
    EXPECT_FALSE(kind_from("pinned"));
    EXPECT_FALSE(kind_from(""));
    EXPECT_FALSE(pages_from("system_default"));
}

TEST(Memory, ObservedPages) {
    EXPECT_EQ(Buffer(host(Pages::small, 8 * mib)).observe().pages, "small");
    EXPECT_EQ(Buffer(host(Pages::shared, 8 * mib)).observe().pages, "shared");
    EXPECT_EQ(Buffer(host(Pages::small, 8 * mib, Touch::none)).observe().pages, "unknown");
    EXPECT_EQ(Buffer(host(Pages::small, 1)).observe().pages, "small");
    EXPECT_EQ(Buffer(host(Pages::small, 8 * mib)).observe().huge_bytes, std::size_t{0});
    EXPECT_EQ(Buffer(host(Pages::system_default, 1)).observe().mpi_memory_kind, "system");
    const std::string enabled = setting("enabled");
    if (enabled == "madvise" || enabled == "never") {
        EXPECT_EQ(Buffer(host(Pages::system_default, 8 * mib)).observe().pages, "small");
    }
    const Observed observed = Buffer(host(Pages::huge, 4 * huge_page_bytes() + 1)).observe();
    if (enabled == "always" || enabled == "madvise") {
        // Memory may be too fragmented for a huge page, never for the count to be missing.
        EXPECT_TRUE(observed.huge_bytes.has_value());
        EXPECT_EQ((observed.pages == "huge"), (observed.huge_bytes == 4 * huge_page_bytes()));
        if (std::getenv("SLOWPATH_TEST_EXPECT_HUGE") != nullptr) {
            EXPECT_EQ(observed.pages, "huge");
        }
    } else {
        EXPECT_EQ(observed.pages, "small");
    }
}

/// The flags of the mapping that holds `at`, as smaps spells them: hg MADV_HUGEPAGE, nh MADV_NOHUGEPAGE.
std::string flags_at(const std::byte* at) {
    std::ifstream smaps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        unsigned long begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
            inside =
                begin <= reinterpret_cast<std::uintptr_t>(at) && reinterpret_cast<std::uintptr_t>(at) < end;
        else if (inside && line.rfind("VmFlags:", 0) == 0)
            return line;
    }
    return {};
}

TEST(Memory, Advice) {
    if (setting("enabled").empty()) return;  // a kernel without transparent huge pages takes no advice
    EXPECT_IN(" hg", flags_at(Buffer(host(Pages::huge, 8 * mib)).base()));
    EXPECT_IN(" nh", flags_at(Buffer(host(Pages::small, 8 * mib)).base()));
    const std::string plain = flags_at(Buffer(host(Pages::system_default, 8 * mib)).base());
    EXPECT_TRUE(!plain.empty() && plain.find(" hg") == std::string::npos &&
                plain.find(" nh") == std::string::npos);
}

bool stands_alone(const Buffer& buffer) {
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.base());
    std::ifstream smaps("/proc/self/smaps");
    const auto areas = parse_smaps(smaps, begin, begin + buffer.bytes());
    return areas.size() == 1 && areas[0].begin == begin && areas[0].end == begin + buffer.bytes();
}

/// In an area shared with neighbours a buffer's pages can't be counted. The lengths are such that no hole but
/// the large one below all mappings takes them, one next to the other.
TEST(Memory, NeighboursDoNotMerge) {
    const std::size_t bytes = 32 * mib;
    void* const other = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_TRUE(stands_alone(Buffer(host(Pages::system_default, bytes))));
    munmap(other, bytes);
    const Buffer untouched(host(Pages::system_default, bytes, Touch::none));
    EXPECT_TRUE(stands_alone(Buffer(host(Pages::system_default, bytes))));
    EXPECT_TRUE(stands_alone(untouched));
}

/// Minor page faults of this thread while every page of a fresh buffer is written.
std::int64_t faults_of_writing(Touch touch) {
    const std::size_t bytes = 64 * system_page_bytes();
    const Buffer buffer(host(Pages::small, bytes, touch));
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    touch_pages(Touch::write, buffer.base(), bytes);
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
}

TEST(Memory, ReadPagesStillFaultWhenTheyAreWritten) {
    EXPECT_LT(faults_of_writing(Touch::write), 8);
    EXPECT_GE(faults_of_writing(Touch::read), 64);  // reads map the kernel's shared zero page
    EXPECT_GE(faults_of_writing(Touch::none), 64);
}

TEST(Memory, Alignment) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4096}, 2 * mib, 2 * mib + 1, 7 * mib + 12345}) {
        const Buffer buffer(host(Pages::huge, bytes));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.base()) % huge_page_bytes(), 0);
        buffer.base()[bytes - 1] = std::byte{1};
    }
}

/// Not one byte of an earlier allocation may be seen in a later one, at whatever address it lies.
TEST(Memory, Freshness) {
    for (const Pages pages : {Pages::system_default, Pages::small, Pages::huge, Pages::shared}) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{4097}, 3 * mib}) {
            for (int round = 0; round < 3; ++round) {
                const Buffer buffer(host(pages, bytes, Touch::none));
                bool clean = true;
                for (std::size_t i = 0; i < bytes; ++i) clean = clean && buffer.base()[i] == std::byte{0};
                EXPECT_TRUE(clean);
                std::memset(buffer.base(), 0xa5, bytes);
            }
        }
    }
    const Buffer one(host(Pages::system_default, 8));
    const Buffer other(host(Pages::system_default, 8));
    EXPECT_GE(std::abs(one.base() - other.base()), 4096);
}

/// The bytes of address space that this process has mapped.
std::size_t mapped_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// A freed buffer leaves no mapping behind, its guards included.
TEST(Memory, ReleaseUnmaps) {
    for (const Pages pages : {Pages::system_default, Pages::huge, Pages::shared}) {
        const std::size_t before_bytes = mapped_bytes();
        Buffer buffer(host(pages, 5 * mib + 1));
        const std::size_t held_bytes = mapped_bytes() - before_bytes;
        EXPECT_TRUE(held_bytes >= 5 * mib + 4096 && held_bytes <= 5 * mib + 3 * 4096);
        std::byte* const base = buffer.base();
        buffer.release();
        EXPECT_EQ(mapped_bytes(), before_bytes);
        EXPECT_NE(msync(base, 4096, MS_ASYNC), 0);
        buffer.release();  // nothing left to free
    }
}

TEST(Memory, CopiesAndRanges) {
    Buffer buffer({.kind = Kind::host,
                   .pages = Pages::small,
                   .bytes = 5000,
                   .offset_bytes = 100,
                   .touch = Touch::write,
                   .device = 0});
    EXPECT_EQ(buffer.data(), buffer.base() + 100);
    EXPECT_EQ(buffer.host_view(), buffer.base());
    EXPECT_EQ(buffer.bytes(), 5000);
    const std::vector<std::byte> sent(300, std::byte{7});
    std::vector<std::byte> got(300);
    buffer.write(4700, sent);
    buffer.read(4700, got);
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(buffer.base()[4699] == std::byte{0} && buffer.base()[4700] == std::byte{7});
    EXPECT_IN("300 bytes at 4701 leave the allocation", thrown<Error>([&] { buffer.write(4701, sent); }));
    EXPECT_IN("leave the allocation", thrown<Error>([&] { buffer.read(SIZE_MAX, got); }));
    Buffer moved = std::move(buffer);
    moved = Buffer(host(Pages::small, 10));
    EXPECT_EQ(moved.bytes(), 10);
}

TEST(Memory, Refusals) {
    Request request = host(Pages::system_default, 10);
    request.offset_bytes = 11;
    EXPECT_IN("offset 11 lies behind the end", thrown<Error>([&] { Buffer buffer(request); }));
    EXPECT_IN("Cannot allocate memory",
              thrown<Error>([&] { Buffer buffer(host(Pages::small, std::size_t{1} << 60)); }));
    EXPECT_IN("Cannot allocate memory",
              thrown<Error>([&] { Buffer buffer(host(Pages::huge, std::size_t{1} << 60)); }));
    EXPECT_IN("longer than any object", thrown<Error>([&] { Buffer buffer(host(Pages::small, SIZE_MAX)); }));
    EXPECT_IN("pages 'huge' are not for mpi memory",
              thrown<Error>([&] { Buffer buffer({.kind = Kind::mpi, .pages = Pages::huge, .bytes = 1}); }));
    try {
        Buffer buffer(host(Pages::shared, std::size_t{1} << 60));
        EXPECT_FALSE("reached");
    } catch (const Error& error) {
        EXPECT_EQ(error.call(), "mmap");
        EXPECT_EQ(error.bytes(), std::size_t{1} << 60);
    }
    EXPECT_EQ(Buffer(host(Pages::small, 0)).bytes(), 0);
    EXPECT_NE(Buffer(host(Pages::huge, 0)).base(), nullptr);
}

int held = 0;

TEST(Memory, MpiMemory) {
    EXPECT_IN("no MPI allocator", *unavailable(Kind::mpi));
    EXPECT_IN("no MPI allocator", thrown<Error>([] { Buffer buffer({.kind = Kind::mpi, .bytes = 8}); }));
    set_mpi_allocator([](std::size_t bytes) { return ++held, std::malloc(bytes); },
                      [](void* base) { --held, std::free(base); });
    EXPECT_FALSE(unavailable(Kind::mpi));
    {
        const Buffer buffer({.kind = Kind::mpi, .bytes = 8 * mib, .touch = Touch::write});
        EXPECT_EQ(held, 1);
        EXPECT_EQ(buffer.observe().mpi_memory_kind, "mpi");
        // Other kinds begin on a page as well; malloc gives 16 bytes behind one.
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.base()) % system_page_bytes(), 0U);
        const Buffer in_heap({.kind = Kind::mpi, .bytes = 8000, .touch = Touch::write});
        if (setting("enabled") != "always") {
            EXPECT_EQ(in_heap.observe().pages, "small");
        }
    }
    EXPECT_EQ(held, 0);  // what was given is freed, not what the buffer begins at
    set_mpi_allocator([](std::size_t) -> void* { return nullptr; }, [](void*) {});
    EXPECT_IN("MPI_Alloc_mem: gave no memory",
              thrown<Error>([] { Buffer buffer({.kind = Kind::mpi, .bytes = 8}); }));
}

}  // namespace
}  // namespace slowpath::memory::test
