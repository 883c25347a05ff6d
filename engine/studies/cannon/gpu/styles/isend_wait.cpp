// SPDX-License-Identifier: Apache-2.0
// Non-blocking: the device multiplies while this rank's processor is in MPI_Waitall, which moves device
// memory.
#include "cannon/gpu/styles/shift.hpp"

namespace slowpath::cannon::gpu {
namespace {

class IsendWait : public Shifting {
  public:
    using Shifting::Shifting;
    void run() override {
        const Event* earlier = nullptr;  // the end of the multiplication of the step before
        for (int step = 0; step < stage_.layout.steps(); ++step) {
            const Event& multiplied = stage_.multiply_shifted(step);
            if (!moves(step)) return;
            // What comes for step + 1 goes where the strips of step - 1 are; of step 0 they stay.
            if (step > 1) earlier->synchronise();
            stage_.timeline.timed(Part::issue, step, [&] { start(step); });
            stage_.timeline.timed(Part::wait, step, [&] {
                mpi::check(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
            });
            earlier = &multiplied;
        }
    }

  private:
    void start(int step) {
        used_ = 0;
        if (stage_.layout.a_moves()) pair(a(step));
        if (stage_.layout.b_moves()) pair(b(step));
    }
    void pair(const Shift& s) {
        MPI_Request* const requests = requests_.data() + used_;
        mpi::check(MPI_Irecv(s.place, s.count, s.type, s.from, s.tag, stage_.communicator, &requests[0]),
                   "MPI_Irecv");
        mpi::check(MPI_Isend(s.data, s.count, s.type, s.to, s.tag, stage_.communicator, &requests[1]),
                   "MPI_Isend");
        used_ += 2;
    }
    std::array<MPI_Request, 4> requests_{};
    int used_ = 0;
};

}  // namespace

const StyleKind isend_wait{"isend_wait", true, false, true, make<IsendWait>};

}  // namespace slowpath::cannon::gpu
