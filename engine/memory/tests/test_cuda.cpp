// SPDX-License-Identifier: Apache-2.0
// The kinds that need a CUDA driver, against tests/stub_cuda.c; the scenario is the first argument.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "memory/buffer.hpp"
#include "memory/gpu.hpp"
#include "tests/text.hpp"

namespace slowpath::memory::test {
namespace {

using slowpath::test::thrown;

constexpr std::array cuda_kinds{Kind::pinned_host, Kind::pinned_registered, Kind::device,
                                Kind::device_pool, Kind::device_vmm,        Kind::managed};

bool on_device(Kind kind) {
    return kind == Kind::device || kind == Kind::device_pool || kind == Kind::device_vmm;
}

Request request(Kind kind, int device = 0) {
    return {.kind = kind,
            .pages = Pages::system_default,
            .bytes = 5000,
            .offset_bytes = 64,
            .touch = Touch::write,
            .device = device};
}

void expect_unavailable(const std::string& reason) {
    for (const Kind kind : cuda_kinds) {
        EXPECT_TRUE(unavailable(kind).has_value());
        EXPECT_EQ(unavailable(kind).value_or("").substr(0, reason.size()), reason);
        EXPECT_IN("bytes)", thrown<Error>([&] { Buffer buffer(request(kind)); }));
    }
    EXPECT_FALSE(unavailable(Kind::host));
}

void round_trip(Kind kind) {
    Buffer buffer(request(kind));
    EXPECT_EQ((buffer.host_view() == nullptr), on_device(kind));
    EXPECT_EQ(buffer.data(), buffer.base() + 64);
    std::vector<std::byte> sent(5000), got(5000);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 37);
    buffer.write(0, sent);
    buffer.read(0, got);
    EXPECT_EQ(got, sent);
    buffer.write(4999, std::array{std::byte{42}});
    buffer.read(4990, std::span(got).first(10));
    EXPECT_TRUE(got[9] == std::byte{42} && got[8] == sent[4998]);
    EXPECT_IN("leave the allocation", thrown<Error>([&] { buffer.write(1, sent); }));
    buffer.release();
}

void kinds() {
    const std::map<Kind, std::string> names{
        {Kind::pinned_host, "cuda:host"},  {Kind::pinned_registered, "cuda:host"},
        {Kind::device, "cuda:device"},     {Kind::device_pool, "cuda:device"},
        {Kind::device_vmm, "cuda:device"}, {Kind::managed, "cuda:managed"}};
    for (const Kind kind : cuda_kinds) {
        EXPECT_FALSE(unavailable(kind));
        round_trip(kind);
        const Buffer buffer(request(kind));
        EXPECT_EQ(buffer.observe().mpi_memory_kind, names.at(kind));
        EXPECT_EQ(buffer.observe().device, 0);
        EXPECT_EQ(buffer.observe().range_bytes, (kind == Kind::device_vmm ? std::size_t{1} << 21 : 5000));
        EXPECT_EQ(buffer.observe().granularity_bytes.has_value(), (kind == Kind::device_vmm));
        Request empty = request(kind);
        empty.bytes = empty.offset_bytes = 0;
        EXPECT_NE(Buffer(empty).base(), nullptr);
        for (const int device : {-1, 1})
            EXPECT_IN("CUDA_ERROR_INVALID_DEVICE",
                      thrown<Error>([&] { Buffer wrong(request(kind, device)); }));
    }
}

/// The bytes of address space that this process has mapped.
std::size_t mapped_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    return pages * 4096;
}

/// An allocation that fails halfway gives back what it had.
void expect_nothing_left(Kind kind) {
    Request large = request(kind);
    large.bytes = std::size_t{64} << 20;
    large.touch = Touch::none;
    const std::size_t before_bytes = mapped_bytes();
    if (thrown<Error>([&] { Buffer buffer(large); }) != "") {
        EXPECT_LT(mapped_bytes(), before_bytes + large.bytes);
    }
}

/// The call that is made to fail is named in the error of whatever uses it; the other kinds still work.
void failing() {
    const char* const injected = std::getenv("SLOWPATH_STUB_CUDA_FAIL");
    const std::string call(injected, std::strchr(injected, '='));
    const bool in_every_kind = call.rfind("cuDevice", 0) == 0 || call == "cuCtxSetCurrent";
    const std::vector<Kind> copied{Kind::device, Kind::device_pool, Kind::device_vmm, Kind::managed};
    const std::map<std::string, std::vector<Kind>> users{
        {"cuMemHostRegister_v2", {Kind::pinned_registered}},
        {"cuMemHostUnregister", {Kind::pinned_registered}},
        {"cuMemAllocAsync", {Kind::device_pool}},
        {"cuMemFreeAsync", {Kind::device_pool}},
        {"cuStreamSynchronize", {Kind::device_pool}},
        {"cuMemGetAllocationGranularity", {Kind::device_vmm}},
        {"cuMemAddressReserve", {Kind::device_vmm}},
        {"cuMemCreate", {Kind::device_vmm}},
        {"cuMemMap", {Kind::device_vmm}},
        {"cuMemSetAccess", {Kind::device_vmm}},
        {"cuMemUnmap", {Kind::device_vmm}},
        {"cuMemRelease", {Kind::device_vmm}},
        {"cuMemAddressFree", {Kind::device_vmm}},
        {"cuMemAlloc_v2", {Kind::device}},
        {"cuMemHostAlloc", {Kind::pinned_host}},
        {"cuMemFreeHost", {Kind::pinned_host}},
        {"cuMemAllocManaged", {Kind::managed}},
        {"cuMemcpyHtoD_v2", copied},
        {"cuMemcpyDtoH_v2", copied},
        {"cuCtxSynchronize", copied},
        {"cuMemFree_v2", {Kind::device, Kind::managed}},
    };
    for (const Kind kind : cuda_kinds) {
        bool fails = in_every_kind;
        if (!in_every_kind)
            for (const Kind user : users.at(call)) fails = fails || user == kind;
        const std::string text = thrown<Error>([&] { round_trip(kind); });
        if (fails)
            EXPECT_IN("CUDA_ERROR_OUT_OF_MEMORY, out of memory", text);
        else
            EXPECT_EQ(text, "");
        EXPECT_TRUE(!fails || text.rfind(call + ": ", 0) == 0);
        if (call.rfind("cuMemGetAll", 0) == 0 || call == "cuMemCreate" || call == "cuMemMap" ||
            call == "cuMemSetAccess" || call == "cuMemHostRegister_v2")
            expect_nothing_left(kind);
    }
}

/// Host memory that is registered has the pages that were asked for, on the boundary of a huge page.
void registered_pages() {
    for (const Pages pages : {Pages::system_default, Pages::small, Pages::huge}) {
        Request wanted = request(Kind::pinned_registered);
        wanted.pages = pages;
        const Buffer buffer(wanted);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.base()) % (std::size_t{1} << 21), 0);
        if (pages == Pages::small) {
            EXPECT_EQ(buffer.observe().pages, "small");
        }
    }
    EXPECT_TRUE(takes(Kind::pinned_registered, Pages::huge) &&
                !takes(Kind::pinned_registered, Pages::shared));
    for (const Kind kind : cuda_kinds) {
        Request shared = request(kind);
        shared.pages = Pages::shared;
        EXPECT_IN("pages 'shared' are not for", thrown<Error>([&] { Buffer wrong(shared); }));
        EXPECT_TRUE(takes(kind, Pages::system_default) && needs_gpu(kind));
    }
}

void devices() {
    for (const int ordinal : {0, 1}) {
        const GpuDevice device = GpuDriver::instance()->describe(ordinal);
        EXPECT_EQ(device.name.value_or(""), "Stub device " + std::to_string(ordinal));
        EXPECT_EQ(device.bus_id.value_or(""), "0000:0" + std::to_string(ordinal) + ":00.0");
        EXPECT_EQ(device.bytes, std::size_t{1} << 30);
        EXPECT_EQ(device.peers, std::vector<std::string>{"0000:0" + std::to_string(1 - ordinal) + ":00.0"});
        for (const Kind kind : cuda_kinds)
            EXPECT_EQ(Buffer(request(kind, ordinal)).observe().device, ordinal);
    }
}

/// @param reason What keeps the kinds away that need more than the oldest driver has.
void newer_kinds_absent(const std::string& reason) {
    for (const Kind kind : {Kind::device_pool, Kind::device_vmm})
        EXPECT_EQ(unavailable(kind).value_or("").substr(0, reason.size()), reason);
    for (const Kind kind : {Kind::pinned_host, Kind::device, Kind::managed}) round_trip(kind);
}

void old_driver() {
    newer_kinds_absent("the CUDA driver lacks cu");
    EXPECT_EQ(unavailable(Kind::pinned_registered).value_or(""),
              "the CUDA driver lacks cuMemHostRegister_v2");
    const GpuDevice device = GpuDriver::instance()->describe(0);
    EXPECT_TRUE(!device.name && !device.bus_id && !device.bytes && !device.peers);
}

void run(const std::string& scenario) {
    if (scenario == "kinds")
        kinds(), registered_pages();
    else if (scenario == "devices")
        devices();
    else if (scenario == "old_driver")
        old_driver();
    else if (scenario == "no_attributes")
        newer_kinds_absent("CUDA device 0 lacks CU_DEVICE_ATTRIBUTE_");
    else if (scenario == "absent")
        expect_unavailable("no CUDA driver (libslowpath-no-such-driver.so: ");
    else if (scenario == "lacking")
        expect_unavailable("no usable CUDA driver (libc.so.6 lacks cuInit)");
    else if (scenario == "no_device")
        expect_unavailable("CUDA driver found but no device");
    else if (scenario == "failing_init")
        expect_unavailable("CUDA driver found but cuInit failed: CUDA error 999");
    else if (scenario == "failing")
        failing();
    else
        FAIL() << "no scenario '" << scenario << "'";
}

std::string asked_for;

TEST(Cuda, Scenario) {
    run(asked_for);
}

}  // namespace
}  // namespace slowpath::memory::test

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1) slowpath::memory::test::asked_for = argv[1];
    return RUN_ALL_TESTS();
}
