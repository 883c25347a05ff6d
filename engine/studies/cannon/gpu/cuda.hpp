// SPDX-License-Identifier: Apache-2.0
/// The driver calls for streams, events and memory of other processes, and the objects made by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "memory/cuda_driver.hpp"

namespace slowpath::cannon::gpu {

using memory::CudaDevicePointer;
using memory::CudaResult;
using memory::CudaStream;
using CudaEvent = void*;

/// CUipcMemHandle of cuda.h: 64 opaque bytes, passed by value.
struct IpcHandle {
    std::array<char, 64> bytes{};
};

/// By the names that libcuda exports.
struct CudaCalls {
    CudaResult (*cuStreamCreate)(CudaStream* stream, unsigned int flags);
    CudaResult (*cuStreamDestroy_v2)(CudaStream stream);
    CudaResult (*cuStreamSynchronize)(CudaStream stream);
    CudaResult (*cuStreamWaitEvent)(CudaStream stream, CudaEvent event, unsigned int flags);
    CudaResult (*cuEventCreate)(CudaEvent* event, unsigned int flags);
    CudaResult (*cuEventDestroy_v2)(CudaEvent event);
    CudaResult (*cuEventRecord)(CudaEvent event, CudaStream stream);
    CudaResult (*cuEventSynchronize)(CudaEvent event);
    CudaResult (*cuEventElapsedTime)(float* elapsed_ms, CudaEvent begin, CudaEvent end);
    CudaResult (*cuMemcpyDtoDAsync_v2)(CudaDevicePointer to, CudaDevicePointer from, std::size_t bytes,
                                       CudaStream stream);
    CudaResult (*cuMemsetD8_v2)(CudaDevicePointer to, unsigned char value, std::size_t bytes);
    CudaResult (*cuIpcGetMemHandle)(IpcHandle* handle, CudaDevicePointer pointer);
    CudaResult (*cuIpcOpenMemHandle_v2)(CudaDevicePointer* pointer, IpcHandle handle, unsigned int flags);
    CudaResult (*cuIpcCloseMemHandle)(CudaDevicePointer pointer);
};

/// The driver of this process with the calls above.  All calls work on the device last passed to use().
class Cuda {
  public:
    /// Loads the driver at the first call.  @throws EnvironmentFailure: no driver, no device, a call missing.
    static const Cuda& loaded();

    memory::CudaDriver& driver() const { return driver_; }
    const CudaCalls& call() const { return calls_; }
    /// @throws memory::Error with the driver's text.
    void check(CudaResult code, const char* name, std::size_t bytes = 0) const {
        if (code != 0) [[unlikely]]
            driver_.check(code, name, bytes);
    }
    /// Everything that this process gave the device is done.
    void synchronise() const { check(driver_.call().cuCtxSynchronize(), "cuCtxSynchronize"); }

  private:
    explicit Cuda(memory::CudaDriver& driver);
    memory::CudaDriver& driver_;
    CudaCalls calls_{};
};

/// A stream that the default stream does not wait for, as it would for a blocking one.
class Stream {
  public:
    explicit Stream(const Cuda& cuda);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    CudaStream get() const { return stream_; }
    void wait_for(CudaEvent event) const;
    void synchronise() const;
    /// Waits as well, for destructors: a failure has been reported already, or will be by the next call.
    void settle() const noexcept;

  private:
    const Cuda& cuda_;
    CudaStream stream_ = nullptr;
};

class Event {
  public:
    explicit Event(const Cuda& cuda);
    Event(Event&& other) noexcept : cuda_(other.cuda_), event_(std::exchange(other.event_, nullptr)) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    Event& operator=(Event&&) = delete;

    CudaEvent get() const { return event_; }
    void record(const Stream& stream) const;
    void synchronise() const;
    /// From `begin` to this event, both over.
    std::int64_t since_ns(const Event& begin) const;

  private:
    const Cuda& cuda_;
    CudaEvent event_ = nullptr;
};

/// cuMemAlloc in whole pages of 2 MiB: opening the handle of another length is many times slower on GPUs
/// whose driver maps such memory in smaller granules (docs/results/gpu.md).
class DeviceMemory {
  public:
    /// @param bytes 0: no memory at all.
    DeviceMemory(const Cuda& cuda, std::size_t bytes);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    CudaDevicePointer get() const { return pointer_; }
    std::size_t bytes() const { return bytes_; }  ///< as asked for
    /// All bits set: NaN as double, float and bfloat16.  Done when the device is synchronised.
    void fill_with_nan() const;

  private:
    const Cuda& cuda_;
    std::size_t bytes_;
    CudaDevicePointer pointer_ = 0;
};

/// Page-locked memory of the CPU, which copies to and from the device go through.
class Staging {
  public:
    Staging(const Cuda& cuda, std::size_t bytes);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    void* get() const { return memory_; }
    std::size_t bytes() const { return bytes_; }

  private:
    const Cuda& cuda_;
    std::size_t bytes_;
    void* memory_ = nullptr;
};

}  // namespace slowpath::cannon::gpu
