// SPDX-License-Identifier: Apache-2.0
// The same local multiplications without any communication: the ceiling.  Each step multiplies with the
// strips that this rank was given, so that the product is another one; it is not checked.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class ComputeOnly : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override { multiply_all_steps(c); }
};

}  // namespace

const VariantKind compute_only{"compute_only",
                               "the local multiplications alone, no communication: the ceiling",
                               Placement::skewed,
                               true,
                               true,
                               no_obstacle,
                               make<ComputeOnly>};

}  // namespace slowpath::cannon
