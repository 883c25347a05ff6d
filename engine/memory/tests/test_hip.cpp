// SPDX-License-Identifier: Apache-2.0
// The GPU kinds under HIP, against tests/stub_hip.c, and the choice of the driver; the scenario is the first
// argument.
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "memory/buffer.hpp"
#include "memory/gpu_driver.hpp"
#include "memory/tests/expect.hpp"

namespace slowpath::memory::test {
namespace {

const std::map<Kind, std::string> kind_names{
    {Kind::pinned_host, "rocm:host"},   {Kind::pinned_registered, "rocm:host"}, {Kind::device, "rocm:device"},
    {Kind::device_pool, "rocm:device"}, {Kind::managed, "rocm:managed"},
};

Request request(Kind kind, int device = 0) {
    return {.kind = kind, .bytes = 5000, .offset_bytes = 64, .touch = true, .device = device};
}

void round_trip(Kind kind) {
    Buffer buffer(request(kind));
    EXPECT((buffer.host_view() == nullptr) == (kind == Kind::device || kind == Kind::device_pool));
    std::vector<std::byte> sent(5000), got(5000);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 37);
    buffer.write(0, sent);
    buffer.read(0, got);
    EXPECT(got == sent);
    buffer.release();
}

void kinds() {
    for (const auto& [kind, mpi_memory_kind] : kind_names) {
        EXPECT(!unavailable(kind));
        round_trip(kind);
        const Observed observed = Buffer(request(kind)).observe();
        EXPECT_TEXT(observed.mpi_memory_kind, mpi_memory_kind);
        EXPECT(observed.device == 0);
        EXPECT(observed.range_bytes == std::size_t{5000});
        EXPECT(!observed.granularity_bytes);
        EXPECT(Buffer({.kind = kind}).base() != nullptr);
        for (const int device : {-1, 2})
            EXPECT_IN("hipErrorInvalidDevice", thrown<Error>([&] { Buffer wrong(request(kind, device)); }));
    }
    EXPECT_TEXT(unavailable(Kind::device_vmm).value_or(""), "device_vmm is not implemented for HIP");
    const GpuDevice device = GpuDriver::instance()->describe(0);
    EXPECT_TEXT(device.name.value_or(""), "Stub HIP device 0");
    EXPECT_TEXT(device.bus_id.value_or(""), "0000:00:00.0");
    EXPECT(device.peers == std::vector<std::string>{"0000:01:00.0"});
    EXPECT(GpuDriver::instance()->describe(1).peers == std::vector<std::string>{});
}

void old_driver() {
    EXPECT_TEXT(unavailable(Kind::pinned_registered).value_or(""), "the HIP driver lacks hipHostRegister");
    EXPECT_TEXT(unavailable(Kind::device_pool).value_or(""), "the HIP driver lacks hipMallocAsync");
    for (const Kind kind : {Kind::pinned_host, Kind::device, Kind::managed}) round_trip(kind);
    EXPECT(!Buffer(request(Kind::device)).observe().range_bytes);
    const GpuDevice device = GpuDriver::instance()->describe(0);
    EXPECT(!device.name && !device.bus_id && !device.bytes && !device.peers);
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
        EXPECT_TEXT(text.substr(0, text.find(" (")),
                    fails ? call + ": hipErrorOutOfMemory, out of memory" : "nothing thrown");
    }
}

void expect_unavailable(const std::string& cuda, const std::string& hip) {
    for (const Kind kind : {Kind::pinned_host, Kind::device, Kind::device_pool, Kind::device_vmm}) {
        const std::string reason = unavailable(kind).value_or("");
        EXPECT_TEXT(reason.substr(0, cuda.size()), cuda);
        EXPECT(reason.find("; " + hip) != std::string::npos);
    }
}

int run(const std::string& scenario) {
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
        EXPECT_TEXT(std::string(GpuDriver::instance()->prefix()), "cuda");
    else if (scenario == "cuda_without_device")
        EXPECT_TEXT(std::string(GpuDriver::instance()->prefix()), "rocm");
    else
        expect(false, "a known scenario", __FILE__, __LINE__, scenario);
    return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace slowpath::memory::test

int main(int argc, char** argv) {
    return slowpath::memory::test::run(argc > 1 ? argv[1] : "");
}
