// SPDX-License-Identifier: Apache-2.0
/// One stream of this rank's GPU, which all libraries are measured on.
#pragma once

#include "memory/cuda_driver.hpp"

namespace slowpath::nccl {

/// The default stream does not wait for it, as it would for a blocking one.
class Stream {
  public:
    /// On the device last passed to CudaDriver::use().  @throws EnvironmentFailure: the driver lacks streams.
    explicit Stream(memory::CudaDriver& driver);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    memory::CudaStream get() const { return stream_; }
    void synchronise() const { driver_.check(synchronise_(stream_), "cuStreamSynchronize", 0); }

  private:
    memory::CudaDriver& driver_;
    memory::CudaResult (*synchronise_)(memory::CudaStream) = nullptr;
    memory::CudaResult (*destroy_)(memory::CudaStream) = nullptr;
    memory::CudaStream stream_ = nullptr;
};

}  // namespace slowpath::nccl
