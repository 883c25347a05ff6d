// SPDX-License-Identifier: Apache-2.0
/// What all styles on a device share: the strips, the stream that multiplies, the clock.
#pragma once

#include <mpi.h>

#include <array>

#include "cannon/gpu/cublas.hpp"
#include "cannon/gpu/timer.hpp"
#include "cannon/layout.hpp"

namespace slowpath::cannon::gpu {

class Peers;  // peers.hpp

/// A rank's memory on its device.  The strips that step 0 needs stay as they are made, in `a` and `b`; what
/// comes later goes into two further places in turn.  So no repetition spoils its inputs, and they are made
/// once.
struct DeviceStrips {
    DeviceStrips(const Cuda& cuda, const Layout& layout, Element element);

    /// Where the strip of a step lies when strips are shifted.  One that never moves stays where it was made.
    CudaDevicePointer a_of_step(int step) const;
    CudaDevicePointer b_of_step(int step) const;
    /// NaN in the places and in C, so that a transfer or a multiplication which never came can't pass.
    void poison(const Cuda& cuda) const;

    DeviceMemory a, b, c;
    std::array<DeviceMemory, 2> a_places, b_places;
};

/// All that a style may use.  One per rank and cell; outlives the style.
struct DeviceStage {
    const Cuda& cuda;
    Layout layout;
    MPI_Comm communicator;
    Element element;
    Timeline& timeline;
    Timer& timer;
    const DeviceStrips& strips;
    const Stream& compute;
    const Stream& copies;
    const CublasHandle& blas;
    const Peers* peers;  ///< nullptr: no style here reads the memory of others

    std::int64_t a_offset(int k) const { return layout.a_offset(k) * input_bytes(element); }
    std::int64_t b_offset(int k) const { return layout.b_offset(k) * input_bytes(element); }

    /// Starts C += A B for one panel of k on the compute stream; step 0 overwrites C.
    /// @return The event of its end.
    const Event& multiply(int step, CudaDevicePointer a_panel, CudaDevicePointer b_panel) const;
    /// The same with the strips of a step when strips are shifted.
    const Event& multiply_shifted(int step) const;
};

}  // namespace slowpath::cannon::gpu
