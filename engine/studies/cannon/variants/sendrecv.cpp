// SPDX-License-Identifier: Apache-2.0
// Blocking with a second buffer for each strip: MPI_Sendrecv needs no hidden copy.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class Sendrecv : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        shift_steps(
            stage_, strips(), c, [](int) {},
            [this](int step) { stage_.timeline.timed(Part::wait, step, [this] { shift(); }); });
    }

  private:
    void shift() {
        const Layout& layout = stage_.layout;
        if (layout.a_moves())
            mpi::check(
                MPI_Sendrecv(strips().a(), 1, a_type_.get(), layout.left(), tag_a, strips().next_a(), 1,
                             a_type_.get(), layout.right(), tag_a, stage_.communicator, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
        if (layout.b_moves())
            mpi::check(
                MPI_Sendrecv(strips().b(), 1, b_type_.get(), layout.up(), tag_b, strips().next_b(), 1,
                             b_type_.get(), layout.down(), tag_b, stage_.communicator, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
};

}  // namespace

const VariantKind sendrecv{"sendrecv",
                           "blocking: multiply, then MPI_Sendrecv into a second buffer",
                           Placement::skewed,
                           true,
                           false,
                           no_obstacle,
                           make<Sendrecv>};

}  // namespace slowpath::cannon
