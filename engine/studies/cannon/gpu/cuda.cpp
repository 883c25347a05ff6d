// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/cuda.hpp"

#include "core/error.hpp"

namespace slowpath::cannon::gpu {
namespace {

constexpr unsigned int non_blocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned int with_timing = 0;   // CU_EVENT_DEFAULT
constexpr std::size_t granule_bytes = std::size_t{2} << 20;

memory::CudaDriver& driver_or_why_not() {
    if (memory::CudaDriver* const driver = memory::CudaDriver::instance()) return *driver;
    throw EnvironmentFailure(memory::CudaDriver::unavailable() + "; memory=device needs an NVIDIA GPU");
}

template <class Function>
void find(const memory::CudaDriver& driver, const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(driver.find(symbol));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("the CUDA driver lacks ") + symbol +
                                 "; memory=device needs a newer one");
}

std::size_t padded(std::size_t bytes) {
    return (bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
}

}  // namespace

Cuda::Cuda(memory::CudaDriver& driver) : driver_(driver) {
    find(driver, "cuStreamCreate", calls_.cuStreamCreate);
    find(driver, "cuStreamDestroy_v2", calls_.cuStreamDestroy_v2);
    find(driver, "cuStreamSynchronize", calls_.cuStreamSynchronize);
    find(driver, "cuStreamWaitEvent", calls_.cuStreamWaitEvent);
    find(driver, "cuEventCreate", calls_.cuEventCreate);
    find(driver, "cuEventDestroy_v2", calls_.cuEventDestroy_v2);
    find(driver, "cuEventRecord", calls_.cuEventRecord);
    find(driver, "cuEventSynchronize", calls_.cuEventSynchronize);
    find(driver, "cuEventElapsedTime", calls_.cuEventElapsedTime);
    find(driver, "cuMemcpyDtoDAsync_v2", calls_.cuMemcpyDtoDAsync_v2);
    find(driver, "cuMemsetD8_v2", calls_.cuMemsetD8_v2);
    find(driver, "cuIpcGetMemHandle", calls_.cuIpcGetMemHandle);
    find(driver, "cuIpcOpenMemHandle_v2", calls_.cuIpcOpenMemHandle_v2);
    find(driver, "cuIpcCloseMemHandle", calls_.cuIpcCloseMemHandle);
}

const Cuda& Cuda::loaded() {
    static const Cuda cuda(driver_or_why_not());
    return cuda;
}

Stream::Stream(const Cuda& cuda) : cuda_(cuda) {
    cuda_.check(cuda_.call().cuStreamCreate(&stream_, non_blocking), "cuStreamCreate");
}

Stream::~Stream() {
    cuda_.call().cuStreamDestroy_v2(stream_);
}

void Stream::wait_for(CudaEvent event) const {
    cuda_.check(cuda_.call().cuStreamWaitEvent(stream_, event, 0), "cuStreamWaitEvent");
}

void Stream::synchronise() const {
    cuda_.check(cuda_.call().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

void Stream::settle() const noexcept {
    cuda_.call().cuStreamSynchronize(stream_);
}

Event::Event(const Cuda& cuda) : cuda_(cuda) {
    cuda_.check(cuda_.call().cuEventCreate(&event_, with_timing), "cuEventCreate");
}

Event::~Event() {
    if (event_ != nullptr) cuda_.call().cuEventDestroy_v2(event_);
}

void Event::record(const Stream& stream) const {
    cuda_.check(cuda_.call().cuEventRecord(event_, stream.get()), "cuEventRecord");
}

void Event::synchronise() const {
    cuda_.check(cuda_.call().cuEventSynchronize(event_), "cuEventSynchronize");
}

std::int64_t Event::since_ns(const Event& begin) const {
    float elapsed_ms = 0;
    cuda_.check(cuda_.call().cuEventElapsedTime(&elapsed_ms, begin.event_, event_), "cuEventElapsedTime");
    return static_cast<std::int64_t>(1e6 * static_cast<double>(elapsed_ms));
}

DeviceMemory::DeviceMemory(const Cuda& cuda, std::size_t bytes) : cuda_(cuda), bytes_(bytes) {
    if (bytes == 0) return;
    cuda_.check(cuda_.driver().call().cuMemAlloc_v2(&pointer_, padded(bytes)), "cuMemAlloc", bytes);
}

DeviceMemory::~DeviceMemory() {
    if (pointer_ != 0) cuda_.driver().call().cuMemFree_v2(pointer_);
}

void DeviceMemory::fill_with_nan() const {
    if (bytes_ != 0) cuda_.check(cuda_.call().cuMemsetD8_v2(pointer_, 0xff, bytes_), "cuMemsetD8", bytes_);
}

Staging::Staging(const Cuda& cuda, std::size_t bytes) : cuda_(cuda), bytes_(bytes) {
    cuda_.check(cuda_.driver().call().cuMemHostAlloc(&memory_, bytes, 0), "cuMemHostAlloc", bytes);
}

Staging::~Staging() {
    cuda_.driver().call().cuMemFreeHost(memory_);
}

}  // namespace slowpath::cannon::gpu
