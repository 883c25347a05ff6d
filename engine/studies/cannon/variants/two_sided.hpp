// SPDX-License-Identifier: Apache-2.0
/// What variants that send and receive strips share: two buffers for each strip, and all calls for one step.
#pragma once

#include "cannon/strips.hpp"
#include "cannon/variants/all.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon {

class TwoSided : public Variant {
  public:
    explicit TwoSided(Stage& stage)
        : stage_(stage), a_type_(stage.layout.a_elements()), b_type_(stage.layout.b_elements()) {}

    double* a() override { return stage_.own.strips.a_places[0]; }
    double* b() override { return stage_.own.strips.b_places[0]; }
    void poison() override { stage_.own.poison(stage_.layout); }

  protected:
    Strips& strips() { return stage_.own.strips; }

    /// The local multiplications of all steps, with the strips that this rank has: nothing moves.
    void multiply_all_steps(double* c) {
        const Layout& layout = stage_.layout;
        for (int step = 0; step < layout.steps(); ++step) {
            const int k = layout.k_of_step(step);
            stage_.multiply.whole(step, a() + layout.a_offset(k), b() + layout.b_offset(k), c);
        }
    }

    Stage& stage_;
    StripType a_type_;
    StripType b_type_;
};

}  // namespace slowpath::cannon
