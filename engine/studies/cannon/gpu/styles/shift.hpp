// SPDX-License-Identifier: Apache-2.0
/// Strips that go to the left and upper neighbour by MPI, from device memory into device memory.
#pragma once

#include "cannon/gpu/style.hpp"
#include "cannon/strips.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon::gpu {

/// One strip's way in one step.  Counts fit an int: the skeleton skips longer strips.
struct Shift {
    void* data;
    int to;
    void* place;
    int from;
    int count;
    MPI_Datatype type;
    int tag;
};

class Shifting : public Style {
  public:
    explicit Shifting(const DeviceStage& stage) : stage_(stage) {}

  protected:
    bool moves(int step) const { return step + 1 < stage_.layout.steps(); }
    Shift a(int step) const {
        const Layout& layout = stage_.layout;
        return shift(stage_.strips.a_of_step(step), layout.left(), stage_.strips.a_of_step(step + 1),
                     layout.right(), layout.a_elements(), tag_a);
    }
    Shift b(int step) const {
        const Layout& layout = stage_.layout;
        return shift(stage_.strips.b_of_step(step), layout.up(), stage_.strips.b_of_step(step + 1),
                     layout.down(), layout.b_elements(), tag_b);
    }

    const DeviceStage& stage_;

  private:
    static void* address(CudaDevicePointer pointer) {
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
    }
    /// bfloat16 is no MPI type (MPI-5.0 section 3.2.2); its bits are an integer of 16.
    Shift shift(CudaDevicePointer data, int to, CudaDevicePointer place, int from, std::int64_t elements,
                int tag) const {
        return {address(data),
                to,
                address(place),
                from,
                static_cast<int>(elements),
                stage_.element == Element::float64 ? MPI_DOUBLE : MPI_UINT16_T,
                tag};
    }
};

}  // namespace slowpath::cannon::gpu
