// SPDX-License-Identifier: Apache-2.0
#include "nccl/stream.hpp"

#include <string>

#include "core/error.hpp"

namespace slowpath::nccl {
namespace {

constexpr unsigned int non_blocking = 1;  // CU_STREAM_NON_BLOCKING

template <class Function>
void find(const memory::CudaDriver& driver, const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(driver.find(symbol));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("the CUDA driver lacks ") + symbol + "; take a newer one");
}

}  // namespace

Stream::Stream(memory::CudaDriver& driver, int device) : driver_(driver), device_(device) {
    make_current();
    memory::CudaResult (*create)(memory::CudaStream*, unsigned int) = nullptr;
    find(driver, "cuStreamCreate", create);
    find(driver, "cuStreamSynchronize", synchronise_);
    find(driver, "cuStreamDestroy_v2", destroy_);
    driver.check(create(&stream_, non_blocking), "cuStreamCreate", 0);
}

Stream::~Stream() {
    destroy_(stream_);
}

}  // namespace slowpath::nccl
