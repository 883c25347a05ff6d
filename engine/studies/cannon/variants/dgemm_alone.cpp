// SPDX-License-Identifier: Apache-2.0
// Rank 0's local multiplications while all other ranks sleep: what one core does when it has the machine to
// itself.  The others sleep until it is done, since a rank that spins shares power, caches and memory with
// it.
#include "cannon/load.hpp"
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class DgemmAlone : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        if (stage_.layout.row == 0 && stage_.layout.column == 0) multiply_all_steps(c);
    }
    void settle() override { wait_asleep(stage_.communicator); }
};

}  // namespace

const VariantKind dgemm_alone{
    "dgemm_alone",
    "the local multiplications of rank 0 while the other ranks sleep: one core alone",
    Placement::skewed,
    true,
    true,
    no_obstacle,
    make<DgemmAlone>};

}  // namespace slowpath::cannon
