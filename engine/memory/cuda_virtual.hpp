// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/cuda_driver.hpp"
#include "memory/gpu_driver.hpp"

namespace slowpath::memory {

/// The first entry point of virtual memory management that the driver lacks; nullptr if it has all.
const char* cuda_virtual_lacks(const CudaDriver& driver);

/// Reserve addresses, create physical memory of the device, and map it there for that device to read and
/// write.  Nothing is left behind on failure.  @throws Error.
GpuMapping cuda_map(const CudaDriver& driver, int ordinal, std::size_t bytes);

/// @throws Error of the first call that fails, after all were tried.
void cuda_unmap(const CudaDriver& driver, const GpuMapping& mapping, std::size_t bytes);

}  // namespace slowpath::memory
