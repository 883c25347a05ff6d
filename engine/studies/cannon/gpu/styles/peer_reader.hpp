// SPDX-License-Identifier: Apache-2.0
/// Styles that read panels from the rank that started with them.
#pragma once

#include "cannon/gpu/peers.hpp"
#include "cannon/gpu/style.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon::gpu {

class PeerReader : public Style {
  public:
    explicit PeerReader(const DeviceStage& stage) : stage_(stage) {}

    /// Both panels of step 0 are this rank's own: the device multiplies them while the ranks agree that all
    /// inputs are there, which a program needs before it reads what others wrote.
    void run() override {
        const Layout& layout = stage_.layout;
        multiply_first();
        if (layout.steps() == 1) return;
        stage_.timeline.timed(Part::synchronise, 0,
                              [&] { mpi::check(MPI_Barrier(stage_.communicator), "MPI_Barrier"); });
        for (int step = 1; step < layout.steps(); ++step) multiply(step, layout.k_of_step(step));
    }

  protected:
    virtual void multiply_first() {
        const int k = stage_.layout.k_of_step(0);
        stage_.multiply(0, stage_.peers->a(k).pointer, stage_.peers->b(k).pointer);
    }
    /// One of the later steps.
    virtual void multiply(int step, int k) = 0;

    const DeviceStage& stage_;
};

}  // namespace slowpath::cannon::gpu
