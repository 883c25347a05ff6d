// SPDX-License-Identifier: Apache-2.0
// Blocking: multiply, wait for the device, then MPI_Sendrecv from device memory into device memory.
#include "cannon/gpu/styles/shift.hpp"

namespace slowpath::cannon::gpu {
namespace {

class Sendrecv : public Shifting {
  public:
    using Shifting::Shifting;
    void run() override {
        for (int step = 0; step < stage_.layout.steps(); ++step) {
            const Event& multiplied = stage_.multiply_shifted(step);
            if (!moves(step)) return;
            multiplied.synchronise();
            stage_.timeline.timed(Part::wait, step, [&] {
                if (stage_.layout.a_moves()) exchange(a(step));
                if (stage_.layout.b_moves()) exchange(b(step));
            });
        }
    }

  private:
    void exchange(const Shift& s) const {
        mpi::check(MPI_Sendrecv(s.data, s.count, s.type, s.to, s.tag, s.place, s.count, s.type, s.from, s.tag,
                                stage_.communicator, MPI_STATUS_IGNORE),
                   "MPI_Sendrecv");
    }
};

}  // namespace

const StyleKind sendrecv{"sendrecv", true, false, true, make<Sendrecv>};

}  // namespace slowpath::cannon::gpu
