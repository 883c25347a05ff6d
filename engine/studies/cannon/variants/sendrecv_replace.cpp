// SPDX-License-Identifier: Apache-2.0
// The textbook form: multiply, then MPI_Sendrecv_replace each strip (MPI-5.0 section 3.10), which hides a
// copy of it.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class SendrecvReplace : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        const Layout& layout = stage_.layout;
        for (int step = 0; step < layout.steps(); ++step) {
            const int k = layout.k_of_step(step);
            stage_.multiply.whole(step, a() + layout.a_offset(k), b() + layout.b_offset(k), c);
            if (step + 1 == layout.steps()) return;
            stage_.timeline.timed(Part::wait, step, [&] { shift(); });
        }
    }

  private:
    void shift() {
        const Layout& layout = stage_.layout;
        if (layout.a_moves())
            mpi::check(MPI_Sendrecv_replace(a(), 1, a_type_.get(), layout.left(), tag_a, layout.right(),
                                            tag_a, stage_.communicator, MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
        if (layout.b_moves())
            mpi::check(MPI_Sendrecv_replace(b(), 1, b_type_.get(), layout.up(), tag_b, layout.down(), tag_b,
                                            stage_.communicator, MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
    }
};

}  // namespace

const VariantKind sendrecv_replace{"sendrecv_replace",
                                   "blocking: multiply, then MPI_Sendrecv_replace",
                                   Placement::skewed,
                                   true,
                                   false,
                                   no_obstacle,
                                   make<SendrecvReplace>};

}  // namespace slowpath::cannon
