// SPDX-License-Identifier: Apache-2.0
// Non-blocking: transfers start before the multiplication and are waited for after it.
#include "cannon/variants/isend.hpp"

namespace slowpath::cannon {
namespace {

class IsendWait : public Isend {
  public:
    using Isend::Isend;
    void run(double* c) override {
        shift_steps(stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); });
    }
};

}  // namespace

const VariantKind isend_wait{
    "isend_wait",
    "non-blocking: MPI_Isend and MPI_Irecv before, MPI_Waitall after the multiplication",
    Placement::skewed,
    true,
    false,
    no_obstacle,
    make<IsendWait>};

}  // namespace slowpath::cannon
