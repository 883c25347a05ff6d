// SPDX-License-Identifier: Apache-2.0
// The same local multiplications without any communication: the rate of one GPU, all GPUs at work.  Each step
// multiplies with the strips that this rank was given, so that the product is another one; it is not checked.
#include "cannon/gpu/style.hpp"

namespace slowpath::cannon::gpu {
namespace {

class ComputeOnly : public Style {
  public:
    explicit ComputeOnly(const DeviceStage& stage) : stage_(stage) {}
    void run() override {
        for (int step = 0; step < stage_.layout.steps(); ++step) {
            const int k = stage_.layout.k_of_step(step);
            stage_.multiply(step, stage_.strips.a.get() + static_cast<CudaDevicePointer>(stage_.a_offset(k)),
                            stage_.strips.b.get() + static_cast<CudaDevicePointer>(stage_.b_offset(k)));
        }
    }

  private:
    const DeviceStage& stage_;
};

}  // namespace

const StyleKind compute_only{"compute_only", false, false, false, make<ComputeOnly>};

}  // namespace slowpath::cannon::gpu
