// SPDX-License-Identifier: Apache-2.0
// MPI_Put before the multiplication, one MPI_Win_fence after it (MPI-5.0 section 12.5.1): it ends the epoch
// of this step and begins that of the next one.  One window holds both places of both strips, so that nothing
// else is needed.
#include "cannon/variants/all.hpp"
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {
namespace {

class PutFence : public PutStrips {
  public:
    using PutStrips::PutStrips;
    void run(double* c) override {
        const int last = stage_.layout.steps() - 1;
        if (last > 0) fence(0, MPI_MODE_NOPRECEDE);
        shift_steps(
            stage_, strips_, c,
            [this](int step) { stage_.timeline.timed(Part::issue, step, [this] { put_both(); }); },
            [this, last](int step) { fence(step, step + 1 == last ? MPI_MODE_NOSUCCEED : 0); });
    }

  private:
    void fence(int step, int assertion) {
        stage_.timeline.timed(Part::synchronise, step,
                              [&] { mpi::check(MPI_Win_fence(assertion, window()), "MPI_Win_fence"); });
    }
};

}  // namespace

const VariantKind put_fence{"put_fence",
                            "one-sided: MPI_Put before, MPI_Win_fence after the multiplication; one window",
                            Placement::skewed,
                            true,
                            false,
                            no_obstacle,
                            make<PutFence>};

}  // namespace slowpath::cannon
