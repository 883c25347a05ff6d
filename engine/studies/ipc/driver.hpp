// SPDX-License-Identifier: Apache-2.0
/// The driver calls for memory shared between processes; for all others see memory/cuda_driver.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "memory/cuda_driver.hpp"

namespace slowpath::ipc {

using memory::CudaDevicePointer;
using memory::CudaResult;

/// CUipcMemHandle of cuda.h: 64 opaque bytes, passed by value.
struct Handle {
    std::array<char, 64> reserved;
};

/// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: the only flag that cuIpcOpenMemHandle takes.
inline constexpr unsigned int lazy_peer_access = 1;

/// By the names that libcuda exports.
struct Functions {
    CudaResult (*cuMemGetAddressRange_v2)(CudaDevicePointer* base, std::size_t* bytes,
                                          CudaDevicePointer pointer);
    CudaResult (*cuIpcGetMemHandle)(Handle* handle, CudaDevicePointer pointer);
    CudaResult (*cuIpcOpenMemHandle_v2)(CudaDevicePointer* pointer, Handle handle, unsigned int flags);
    CudaResult (*cuIpcCloseMemHandle)(CudaDevicePointer pointer);
};

/// The driver of this process with the calls above.
struct Driver {
    memory::CudaDriver& cuda;
    Functions call;
};

/// Load the driver at the first call.  @throws EnvironmentFailure: no driver, no device, a call that it
/// lacks.
const Driver& driver();

}  // namespace slowpath::ipc
