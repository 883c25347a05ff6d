// SPDX-License-Identifier: Apache-2.0
#include "memory/gpu_driver.hpp"

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

}  // namespace slowpath::memory
