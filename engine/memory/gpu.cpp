// SPDX-License-Identifier: Apache-2.0
#include "memory/gpu.hpp"

namespace slowpath::memory {

namespace {

/// HIP is not loaded where CUDA has a device: on NVIDIA hardware HIP is a layer over CUDA.
const GpuCandidate& chosen() {
    static const GpuCandidate once = [] {
        GpuCandidate cuda = cuda_candidate();
        if (cuda.driver != nullptr) return cuda;
        GpuCandidate hip = hip_candidate();
        if (hip.driver != nullptr) return hip;
        return GpuCandidate{nullptr, cuda.reason + "; " + hip.reason};
    }();
    return once;
}

}  // namespace

GpuDriver* GpuDriver::instance() {
    return chosen().driver;
}

const std::string& GpuDriver::unavailable() {
    return chosen().reason;
}

std::optional<std::string> GpuDriver::copy_between(std::byte*, const std::byte*, std::size_t, std::int64_t) {
    return "copies between GPUs are timed with CUDA alone";
}

void GpuDriver::reach(int) {}

std::optional<std::string> gpu_unavailable() {
    const std::string& reason = GpuDriver::unavailable();
    return reason.empty() ? std::nullopt : std::optional(reason);
}

std::optional<std::string> gpu_unavailable(GpuFeature feature) {
    const GpuDriver* const driver = GpuDriver::instance();
    return driver == nullptr ? GpuDriver::unavailable() : driver->lacks(feature);
}

GpuAllocation::GpuAllocation(const Request& request)
    : driver_(*GpuDriver::instance()), bytes_(request.bytes), device_(request.device) {
    driver_.use(device_, bytes_);
}

void GpuAllocation::write(std::size_t at, std::span<const std::byte> from) {
    driver_.use(device_, from.size());
    driver_.copy_in(base_ + at, from);
}

void GpuAllocation::read(std::size_t at, std::span<std::byte> to) const {
    driver_.use(device_, to.size());
    driver_.copy_out(to, base_ + at);
}

Observed GpuAllocation::observe_gpu(const char* suffix) const {
    Observed observed{.mpi_memory_kind = std::string(driver_.prefix()) + ":" + suffix,
                      .pages = "unknown",
                      .page_bytes = system_page_bytes()};
    observed.device = device_;
    observed.range_bytes = driver_.range_bytes(base_);
    return observed;
}

SimpleGpuAllocation::SimpleGpuAllocation(const Request& request, GpuMemory which)
    : GpuAllocation(request), which_(which) {
    base_ = driver_.allocate(which_, bytes_);
}

Observed SimpleGpuAllocation::observe() const {
    return observe_gpu(which_ == GpuMemory::managed ? "managed" : "device");
}

void SimpleGpuAllocation::release() {
    driver_.use(device_, bytes_);
    driver_.free(which_, base_, bytes_);
}

void observe_pinned(Observed& observed, const GpuDriver& driver, int device, const std::byte* base) {
    observed.mpi_memory_kind = std::string(driver.prefix()) + ":host";
    observed.device = device;
    observed.range_bytes = driver.range_bytes(base);
}

}  // namespace slowpath::memory
