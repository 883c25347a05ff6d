// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/allocation.hpp"
#include "memory/cuda_driver.hpp"

namespace slowpath::memory {

/// KindEntry::unavailable of every kind that the CUDA driver allocates.
std::optional<std::string> cuda_unavailable();

/// Memory whose pages move to, or live on, a GPU: device and managed. Copies go through the driver.
class CudaMemory : public Allocation {
  public:
    std::byte* base() const override {
        return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(pointer_));
    }
    void write(std::size_t at, std::span<const std::byte> from) override;
    void read(std::size_t at, std::span<std::byte> to) const override;
    void release() override;

  protected:
    explicit CudaMemory(const Request& request);

    Observed observe_cuda(const char* mpi_memory_kind) const;

    CudaDriver& driver_;
    std::size_t bytes_;
    int device_;
    CudaDevicePointer pointer_ = 0;
};

/// What is asked of the driver: it refuses a length of 0.
inline std::size_t cuda_length(std::size_t bytes) {
    return bytes == 0 ? 1 : bytes;
}

}  // namespace slowpath::memory
