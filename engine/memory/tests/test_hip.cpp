// SPDX-License-Identifier: Apache-2.0
// The GPU kinds under HIP, against tests/stub_hip.c, and the choice of the driver; the scenario is the first
// argument.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "memory/buffer.hpp"
#include "memory/gpu.hpp"
#include "tests/text.hpp"

namespace slowpath::memory::test {
namespace {

using slowpath::test::thrown;

const std::map<Kind, std::string> kind_names{
    {Kind::pinned_host, "rocm:host"},   {Kind::pinned_registered, "rocm:host"}, {Kind::device, "rocm:device"},
    {Kind::device_pool, "rocm:device"}, {Kind::managed, "rocm:managed"},
};

Request request(Kind kind, int device = 0) {
    return {.kind = kind, .bytes = 5000, .offset_bytes = 64, .touch = Touch::write, .device = device};
}

void round_trip(Kind kind) {
    Buffer buffer(request(kind));
    EXPECT_EQ((buffer.host_view() == nullptr), (kind == Kind::device || kind == Kind::device_pool));
    std::vector<std::byte> sent(5000), got(5000);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 37);
    buffer.write(0, sent);
    buffer.read(0, got);
    EXPECT_EQ(got, sent);
    buffer.release();
}

void kinds() {
    for (const auto& [kind, mpi_memory_kind] : kind_names) {
        EXPECT_FALSE(unavailable(kind));
        round_trip(kind);
        const Observed observed = Buffer(request(kind)).observe();
        EXPECT_EQ(observed.mpi_memory_kind, mpi_memory_kind);
        EXPECT_EQ(observed.device, 0);
        EXPECT_EQ(observed.range_bytes, std::size_t{5000});
        EXPECT_FALSE(observed.granularity_bytes);
        EXPECT_NE(Buffer({.kind = kind}).base(), nullptr);
        for (const int device : {-1, 2})
            EXPECT_IN("hipErrorInvalidDevice", thrown<Error>([&] { Buffer wrong(request(kind, device)); }));
    }
    EXPECT_EQ(unavailable(Kind::device_vmm).value_or(""), "device_vmm is not implemented for HIP");
    const GpuDevice device = GpuDriver::instance()->describe(0);
    EXPECT_EQ(device.name.value_or(""), "Stub HIP device 0");
    EXPECT_EQ(device.bus_id.value_or(""), "0000:00:00.0");
    EXPECT_EQ(device.peers, std::vector<std::string>{"0000:01:00.0"});
    EXPECT_EQ(GpuDriver::instance()->describe(1).peers, std::vector<std::string>{});
}

void old_driver() {
    EXPECT_EQ(unavailable(Kind::pinned_registered).value_or(""), "the HIP driver lacks hipHostRegister");
    EXPECT_EQ(unavailable(Kind::device_pool).value_or(""), "the HIP driver lacks hipMallocAsync");
    for (const Kind kind : {Kind::pinned_host, Kind::device, Kind::managed}) round_trip(kind);
    EXPECT_FALSE(Buffer(request(Kind::device)).observe().range_bytes);
    const GpuDevice device = GpuDriver::instance()->describe(0);
    EXPECT_TRUE(!device.name && !device.bus_id && !device.bytes && !device.peers);
}

void failing() {
    const char* const injected = std::getenv("SLOWPATH_STUB_HIP_FAIL");
    const std::string call(injected, std::strchr(injected, '='));
    const std::vector<Kind> copied{Kind::device, Kind::device_pool, Kind::managed};
    const std::map<std::string, std::vector<Kind>> users{
        {"hipMalloc", {Kind::device}},
        {"hipFree", {Kind::device, Kind::managed}},
        {"hipHostMalloc", {Kind::pinned_host}},
        {"hipHostFree", {Kind::pinned_host}},
        {"hipMallocManaged", {Kind::managed}},
        {"hipHostRegister", {Kind::pinned_registered}},
        {"hipHostUnregister", {Kind::pinned_registered}},
        {"hipMallocAsync", {Kind::device_pool}},
        {"hipFreeAsync", {Kind::device_pool}},
        {"hipStreamSynchronize", {Kind::device_pool}},
        {"hipMemcpy", copied},
        {"hipDeviceSynchronize", copied},
    };
    for (const auto& [kind, unused] : kind_names) {
        bool fails = call == "hipSetDevice";
        if (!fails)
            for (const Kind user : users.at(call)) fails = fails || user == kind;
        const std::string text = thrown<Error>([&] { round_trip(kind); });
        EXPECT_EQ(text.substr(0, text.find(" (")),
                  fails ? call + ": hipErrorOutOfMemory, out of memory" : "");
    }
}

void expect_unavailable(const std::string& cuda, const std::string& hip) {
    for (const Kind kind : {Kind::pinned_host, Kind::device, Kind::device_pool, Kind::device_vmm}) {
        const std::string reason = unavailable(kind).value_or("");
        EXPECT_EQ(reason.substr(0, cuda.size()), cuda);
        EXPECT_NE(reason.find("; " + hip), std::string::npos);
    }
}

void run(const std::string& scenario) {
    const std::string no_cuda = "no CUDA driver (libslowpath-no-such-driver.so: ";
    if (scenario == "kinds")
        kinds();
    else if (scenario == "old_driver")
        old_driver();
    else if (scenario == "failing")
        failing();
    else if (scenario == "neither")
        expect_unavailable(no_cuda, "no HIP driver (libslowpath-no-such-driver.so: ");
    else if (scenario == "lacking")
        expect_unavailable(no_cuda, "no usable HIP driver (it lacks hipInit)");
    else if (scenario == "no_device")
        expect_unavailable("CUDA driver found but no device", "HIP driver found but no device");
    else if (scenario == "failing_init")
        expect_unavailable(no_cuda, "HIP driver found but hipInit failed: hipErrorUnknown, stub error");
    else if (scenario == "cuda_first")
        EXPECT_EQ(std::string(GpuDriver::instance()->prefix()), "cuda");
    else if (scenario == "cuda_without_device")
        EXPECT_EQ(std::string(GpuDriver::instance()->prefix()), "rocm");
    else
        FAIL() << "no scenario '" << scenario << "'";
}

std::string asked_for;

TEST(Hip, Scenario) {
    run(asked_for);
}

}  // namespace
}  // namespace slowpath::memory::test

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc > 1) slowpath::memory::test::asked_for = argv[1];
    return RUN_ALL_TESTS();
}
