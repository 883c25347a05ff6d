// SPDX-License-Identifier: Apache-2.0
/// GPU memory as programs come by it. The program exports what the preloaded library does; dlsym is its own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "kept_rows.hpp"
#include "watch/allocations.hpp"
#include "watch/buffers.hpp"
#include "watch/found.hpp"
#include "watch/loader.hpp"

/// As dlsym.cpp has it, without MPI.
extern "C" void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
    using namespace slowpath::watch;
    if (is_for_gpu(handle, name, __builtin_return_address(0)))
        return find_for_gpu(handle, name, __builtin_return_address(0));
    return real_dlsym()(handle, name);
}

namespace slowpath::watch {
namespace {

using Pointer = unsigned long long;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr unsigned is_odd = 1 << 8;

void* opened(const char* variable) {
    void* const library = dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    return library;
}

/// Before any driver is there, what asks for CUDA must not be answered by this library.
const bool found_without_driver = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != nullptr;

void* driver() {
    static void* const handle = opened("SLOWPATH_CUDA_DRIVER");
    return handle;
}

/// Of the driver, by name.
template <class... Arguments>
int call(const char* name, Arguments... arguments) {
    void* const found = dlsym(driver(), name);
    if (found == nullptr) return -1;
    return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

unsigned kind_in(const BufferView& view) {
    return view.buffer_class & 15U;
}

const void* at(Pointer pointer) {
    return reinterpret_cast<const void*>(pointer);
}

int questions() {
    return *static_cast<int*>(real_dlsym()(driver(), "stub_questions"));
}

class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        keep_rows_anew();
        static int any;
        ASSERT_EQ(call("cuCtxSetCurrent", static_cast<void*>(&any)), 0);
    }

    /// What was made is known as this, until it is freed; and what is made then is another.
    template <class Free>
    static void expect_known(Pointer pointer, std::size_t bytes, unsigned memory, Free release) {
        const BufferView first = view_buffer(at(pointer), 100);
        EXPECT_EQ(kind_in(first), memory);
        EXPECT_EQ(first.allocation_bytes, bytes);
        EXPECT_TRUE(first.is_first);
        EXPECT_EQ((first.buffer_class & is_odd) != 0, memory == kind::device && bytes % (2 * mebibyte) != 0);
        // A part of it, as pools of frameworks give them.
        const BufferView part = view_buffer(at(pointer + bytes / 2), 100);
        EXPECT_EQ(part.allocation, first.allocation);
        EXPECT_EQ(part.allocation_bytes, bytes);
        EXPECT_FALSE(part.is_first);
        EXPECT_EQ(release(pointer), 0);
        EXPECT_EQ(known_bytes(Layer::declared, pointer), 0U);
    }

    /// By these functions, however they were found.
    static void expect_wrapped(void* allocate, void* release) {
        ASSERT_NE(allocate, nullptr);
        ASSERT_NE(release, nullptr);
        const auto free = reinterpret_cast<int (*)(Pointer)>(release);
        for (const std::size_t bytes : {4 * mebibyte, 5 * mebibyte + 1}) {
            Pointer pointer = 0;
            ASSERT_EQ(reinterpret_cast<int (*)(Pointer*, std::size_t)>(allocate)(&pointer, bytes), 0);
            expect_known(pointer, bytes, kind::device, free);
        }
    }
};

TEST_F(Gpu, WithoutADriverThereIsNone) {
    EXPECT_FALSE(found_without_driver);
}

TEST_F(Gpu, FoundInTheDriver) {
    expect_wrapped(dlsym(driver(), "cuMemAlloc_v2"), dlsym(driver(), "cuMemFree_v2"));
}

TEST_F(Gpu, FoundByCuGetProcAddress) {
    void *allocate = nullptr, *release = nullptr, *second = nullptr;
    ASSERT_EQ(call("cuGetProcAddress", "cuMemAlloc", &allocate, 11030, std::uint64_t{0}), 0);
    ASSERT_EQ(call("cuGetProcAddress", "cuMemFree", &release, 11030, std::uint64_t{0}), 0);
    expect_wrapped(allocate, release);
    ASSERT_EQ(call("cuGetProcAddress", "cuGetProcAddress", &second, 12000, std::uint64_t{0}), 0);
    const auto ask = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, int*)>(second);
    ASSERT_EQ(ask("cuMemAlloc", &allocate, 12000, 0, nullptr), 0);
    ASSERT_EQ(ask("cuMemFree", &release, 12000, 0, nullptr), 0);
    expect_wrapped(allocate, release);
    EXPECT_EQ(ask("cuNoSuchFunction", &allocate, 12000, 0, nullptr), 500);
}

TEST_F(Gpu, MadeByTheRuntime) {
    void* const runtime = opened("SLOWPATH_TEST_RUNTIME");
    expect_wrapped(dlsym(runtime, "cudaMalloc"), dlsym(runtime, "cudaFree"));
    void *allocate = nullptr, *release = nullptr;
    const auto entry = reinterpret_cast<int (*)(const char*, void**, std::uint64_t, int*)>(
        dlsym(runtime, "cudaGetDriverEntryPoint"));
    ASSERT_EQ(entry("cuMemAlloc", &allocate, 0, nullptr), 0);
    ASSERT_EQ(entry("cuMemFree", &release, 0, nullptr), 0);
    expect_wrapped(allocate, release);
}

TEST_F(Gpu, WhatRewritesCodeGetsTheDriversOwn) {
    const auto look_up =
        reinterpret_cast<void* (*)(const char*)>(dlsym(opened("SLOWPATH_TEST_PATCHER"), "found_to_patch"));
    Dl_info about{}, of_driver{};
    ASSERT_NE(dladdr(look_up("cuMemAlloc_v2"), &about), 0);
    ASSERT_NE(dladdr(real_dlsym()(driver(), "stub_questions"), &of_driver), 0);
    EXPECT_EQ(about.dli_fbase, of_driver.dli_fbase);
}

TEST_F(Gpu, OtherKindsOfMemory) {
    Pointer pointer = 0;
    ASSERT_EQ(call("cuMemAllocManaged", &pointer, 3 * mebibyte, 1U), 0);
    expect_known(pointer, 3 * mebibyte, kind::managed, [](Pointer p) { return call("cuMemFree_v2", p); });
    ASSERT_EQ(call("cuMemHostAlloc", &pointer, 3 * mebibyte, 0U), 0);
    std::memset(reinterpret_cast<void*>(pointer), 1, 3 * mebibyte);
    expect_known(pointer, 3 * mebibyte, kind::pinned, [](Pointer p) { return call("cuMemFreeHost", p); });
    void* const no_stream = nullptr;
    ASSERT_EQ(call("cuMemAllocAsync", &pointer, 3 * mebibyte, no_stream), 0);
    expect_known(pointer, 3 * mebibyte, kind::device,
                 [=](Pointer p) { return call("cuMemFreeAsync", p, no_stream); });
}

TEST_F(Gpu, RegisteredMemoryIsOfTheHostAgainAfterwards) {
    char* const block = static_cast<char*>(std::calloc(1, 4 * mebibyte));
    EXPECT_NE(kind_in(view_buffer(block + mebibyte, 8)), kind::pinned);
    ASSERT_EQ(call("cuMemHostRegister_v2", static_cast<void*>(block + mebibyte), mebibyte, 0U), 0);
    expect_known(reinterpret_cast<Pointer>(block + mebibyte), mebibyte, kind::pinned,
                 [](Pointer p) { return call("cuMemHostUnregister", p); });
    EXPECT_EQ(view_buffer(block + mebibyte, 8).allocation_bytes, 4 * mebibyte);
    std::free(block);
}

TEST_F(Gpu, VirtualMemoryIsKnownByWhatIsMapped) {
    struct {
        int type = 1, handle_types = 0, location_type = 1, device = 0;
        void* windows_only = nullptr;
        unsigned char flags[8] = {};
    } properties;
    Pointer pointer = 0, handle = 0;
    ASSERT_EQ(call("cuMemAddressReserve", &pointer, 8 * mebibyte, std::size_t{0}, Pointer{0}, 0ULL), 0);
    ASSERT_EQ(call("cuMemCreate", &handle, 4 * mebibyte, &properties, 0ULL), 0);
    ASSERT_EQ(call("cuMemMap", pointer, 4 * mebibyte, std::size_t{0}, handle, 0ULL), 0);
    expect_known(pointer, 4 * mebibyte, kind::device,
                 [](Pointer p) { return call("cuMemUnmap", p, 4 * mebibyte); });
    EXPECT_EQ(call("cuMemRelease", handle), 0);
    EXPECT_EQ(call("cuMemAddressFree", pointer, 8 * mebibyte), 0);
}

TEST_F(Gpu, AFreeThatFailsFreesNothing) {
    Pointer pointer = 0;
    ASSERT_EQ(call("cuMemAlloc_v2", &pointer, mebibyte), 0);
    EXPECT_TRUE(view_buffer(at(pointer), 8).is_first);
    setenv("SLOWPATH_STUB_CUDA_FAIL", "cuMemFree_v2=2", 1);
    EXPECT_EQ(call("cuMemFree_v2", pointer), 2);
    unsetenv("SLOWPATH_STUB_CUDA_FAIL");
    EXPECT_FALSE(view_buffer(at(pointer), 8).is_first);
    EXPECT_EQ(call("cuMemFree_v2", pointer), 0);
}

TEST_F(Gpu, OneQuestionForAnAllocationAndNoneForKnownHostMemory) {
    Pointer pointer = 0;
    ASSERT_EQ(call("cuMemAlloc_v2", &pointer, mebibyte), 0);
    view_buffer(at(pointer), 8);
    const int before = questions();
    for (int i = 0; i < 50; ++i) view_buffer(at(pointer + 64), 8);
    void* const block = std::calloc(1, mebibyte);
    view_buffer(block, 8);
    EXPECT_EQ(questions(), before);
    std::free(block);
    EXPECT_EQ(call("cuMemFree_v2", pointer), 0);
}

TEST_F(Gpu, WhatNobodySawBeingMadeIsAskedForOnce) {
    const auto allocate = reinterpret_cast<int (*)(Pointer*, std::size_t, unsigned)>(
        real_dlsym()(driver(), "cuMemAllocManaged"));
    Pointer pointer = 0;
    ASSERT_EQ(allocate(&pointer, 3 * mebibyte, 1), 0);
    // The stub maps it by the C library, which is watched: a driver need not.
    take_range(Layer::mappings, pointer, pointer + 3 * mebibyte);
    const BufferView view = view_buffer(at(pointer + mebibyte), 8);
    EXPECT_EQ(kind_in(view), kind::managed);
    EXPECT_EQ(view.allocation_bytes, 3 * mebibyte);
    const int before = questions();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(kind_in(view_buffer(at(pointer + 100), 8)), kind::managed);
    EXPECT_EQ(questions(), before);
}

}  // namespace
}  // namespace slowpath::watch
