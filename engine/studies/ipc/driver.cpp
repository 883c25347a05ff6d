// SPDX-License-Identifier: Apache-2.0
#include "ipc/driver.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace slowpath::ipc {
namespace {

/// The driver's library is loaded with RTLD_GLOBAL, so its symbols are among the default ones.
template <typename Function>
void find(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("the CUDA driver lacks ") + symbol +
                                 ", without which memory can't be shared between processes");
}

Driver load() {
    memory::CudaDriver* const cuda = memory::CudaDriver::instance();
    if (cuda == nullptr)
        throw EnvironmentFailure(
            memory::CudaDriver::unavailable() +
            "; this experiment shares GPU memory between two processes and needs an NVIDIA GPU");
    Functions call{};
    find("cuMemGetAddressRange_v2", call.cuMemGetAddressRange_v2);
    find("cuIpcGetMemHandle", call.cuIpcGetMemHandle);
    find("cuIpcOpenMemHandle_v2", call.cuIpcOpenMemHandle_v2);
    find("cuIpcCloseMemHandle", call.cuIpcCloseMemHandle);
    return {*cuda, call};
}

}  // namespace

const Driver& driver() {
    static const Driver loaded = load();
    return loaded;
}

}  // namespace slowpath::ipc
