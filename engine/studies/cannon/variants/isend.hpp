// SPDX-License-Identifier: Apache-2.0
/// Non-blocking transfers of one step: all started at once, receives first.
#pragma once

#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {

class Isend : public TwoSided {
  public:
    using TwoSided::TwoSided;

  protected:
    void start(int step) {
        stage_.timeline.timed(Part::issue, step, [this] {
            const Layout& layout = stage_.layout;
            used_ = 0;
            if (layout.a_moves())
                pair(strips().a(), layout.left(), strips().next_a(), layout.right(), a_type_, tag_a);
            if (layout.b_moves())
                pair(strips().b(), layout.up(), strips().next_b(), layout.down(), b_type_, tag_b);
        });
    }
    void wait(int step) {
        stage_.timeline.timed(Part::wait, step, [this] {
            mpi::check(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        });
    }
    void test() {
        int done = 0;
        mpi::check(MPI_Testall(used_, requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    }

  private:
    void pair(const double* data, int to, double* place, int from, const StripType& type, int tag) {
        MPI_Request* const requests = requests_.data() + used_;
        mpi::check(MPI_Irecv(place, 1, type.get(), from, tag, stage_.communicator, &requests[0]),
                   "MPI_Irecv");
        mpi::check(MPI_Isend(data, 1, type.get(), to, tag, stage_.communicator, &requests[1]), "MPI_Isend");
        used_ += 2;
    }
    std::array<MPI_Request, 4> requests_{};
    int used_ = 0;
};

}  // namespace slowpath::cannon
