// SPDX-License-Identifier: Apache-2.0
/// One stream of this rank's GPU, which all libraries are measured on.
#pragma once

#include "memory/cuda_driver.hpp"

namespace slowpath::nccl {

/// The default stream does not wait for it, as it would for a blocking one.
class Stream {
  public:
    /// On this device, which is current afterwards.  @throws EnvironmentFailure: the driver lacks streams.
    Stream(memory::CudaDriver& driver, int device);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    memory::CudaStream get() const { return stream_; }
    int device() const { return device_; }
    /// The stream's device is the calling thread's again, whatever has been asked of others since: libraries
    /// take the current one as theirs.
    void make_current() const { driver_.use(device_, 0); }
    void synchronise() const { driver_.check(synchronise_(stream_), "cuStreamSynchronize", 0); }

  private:
    memory::CudaDriver& driver_;
    int device_;
    memory::CudaResult (*synchronise_)(memory::CudaStream) = nullptr;
    memory::CudaResult (*destroy_)(memory::CudaStream) = nullptr;
    memory::CudaStream stream_ = nullptr;
};

}  // namespace slowpath::nccl
