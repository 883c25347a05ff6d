// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda_memory.hpp"

namespace slowpath::memory {

std::optional<std::string> cuda_unavailable() {
    const std::string& reason = CudaDriver::unavailable();
    return reason.empty() ? std::nullopt : std::optional(reason);
}

CudaMemory::CudaMemory(const Request& request)
    : driver_(*CudaDriver::instance()), bytes_(request.bytes), device_(request.device) {
    driver_.use(device_, bytes_);
}

void CudaMemory::write(std::size_t at, std::span<const std::byte> from) {
    driver_.use(device_, from.size());
    driver_.check(driver_.call().cuMemcpyHtoD_v2(pointer_ + at, from.data(), from.size()), "cuMemcpyHtoD_v2",
                  from.size());
    // From pageable memory the call may return when the bytes are staged and not yet at their place (CUDA
    // driver API, "API synchronization behavior"); MPI may read the buffer from another stream or another
    // process.
    driver_.check(driver_.call().cuCtxSynchronize(), "cuCtxSynchronize", from.size());
}

void CudaMemory::read(std::size_t at, std::span<std::byte> to) const {
    driver_.use(device_, to.size());
    driver_.check(driver_.call().cuMemcpyDtoH_v2(to.data(), pointer_ + at, to.size()), "cuMemcpyDtoH_v2",
                  to.size());
}

void CudaMemory::release() {
    driver_.use(device_, bytes_);
    driver_.check(driver_.call().cuMemFree_v2(pointer_), "cuMemFree_v2", bytes_);
}

Observed CudaMemory::observe_cuda(const char* mpi_memory_kind) const {
    return {mpi_memory_kind, "unknown", std::nullopt, system_page_bytes(), device_};
}

}  // namespace slowpath::memory
