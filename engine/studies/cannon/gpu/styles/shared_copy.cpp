// SPDX-License-Identifier: Apache-2.0
// The panels of the next step come from the GPUs that they started on by the copy engine, on a stream of its
// own, while this step multiplies.  No call of this rank's processor is between the steps: events keep the
// order.
#include "cannon/gpu/styles/peer_reader.hpp"

namespace slowpath::cannon::gpu {
namespace {

class SharedCopy : public PeerReader {
  public:
    explicit SharedCopy(const DeviceStage& stage)
        : PeerReader(stage), multiplied_(static_cast<std::size_t>(stage.layout.steps())) {}

  protected:
    void multiply_first() override {
        const int k = stage_.layout.k_of_step(0);
        multiplied_[0] = &stage_.multiply(0, stage_.peers->a(k).pointer, stage_.peers->b(k).pointer);
    }

    void multiply(int step, int k) override {
        const PanelAddress a = stage_.peers->a(k), b = stage_.peers->b(k);
        const CudaDevicePointer a_here = a.own ? a.pointer : stage_.strips.a_of_step(step);
        const CudaDevicePointer b_here = b.own ? b.pointer : stage_.strips.b_of_step(step);
        // The places of this step were last read by the multiplication of two steps before, but for the first
        // two.
        if (step > 2) stage_.copies.wait_for(multiplied_[static_cast<std::size_t>(step) - 2]->get());
        const Event& copied = stage_.timer.timed(Part::copy, step, stage_.copies, [&] {
            if (!a.own) copy(a_here, a.pointer, stage_.layout.c_rows() * stage_.layout.panel());
            if (!b.own) copy(b_here, b.pointer, stage_.layout.panel() * stage_.layout.c_columns());
        });
        stage_.compute.wait_for(copied.get());
        multiplied_[static_cast<std::size_t>(step)] = &stage_.multiply(step, a_here, b_here);
    }

  private:
    void copy(CudaDevicePointer to, CudaDevicePointer from, std::int64_t elements) const {
        const auto bytes = static_cast<std::size_t>(elements * input_bytes(stage_.element));
        stage_.cuda.check(stage_.cuda.call().cuMemcpyDtoDAsync_v2(to, from, bytes, stage_.copies.get()),
                          "cuMemcpyDtoDAsync", bytes);
    }

    std::vector<const Event*> multiplied_;  ///< ends, by step
};

}  // namespace

const StyleKind shared_copy{"shared_copy", false, true, true, make<SharedCopy>};

}  // namespace slowpath::cannon::gpu
