// SPDX-License-Identifier: Apache-2.0
// Non-blocking, with MPI_Testall between pieces of the multiplication, for libraries that move data only
// inside calls.
#include "cannon/variants/isend.hpp"

namespace slowpath::cannon {
namespace {

class IsendTest : public Isend {
  public:
    using Isend::Isend;
    void run(double* c) override {
        const std::function<void()> poke = [this] { test(); };
        shift_steps(
            stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); }, &poke);
    }
};

}  // namespace

const VariantKind isend_test{"isend_test",
                             "non-blocking, with MPI_Testall between pieces of the multiplication",
                             Placement::skewed,
                             true,
                             false,
                             no_obstacle,
                             make<IsendTest>};

}  // namespace slowpath::cannon
