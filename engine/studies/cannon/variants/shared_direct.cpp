// SPDX-License-Identifier: Apache-2.0
// Shared window: the multiplication reads the owner's memory itself.  No copy, no message, no synchronisation
// of steps.
#include "cannon/variants/home.hpp"

namespace slowpath::cannon {
namespace {

class SharedDirect : public Variant {
  public:
    explicit SharedDirect(Stage& stage) : stage_(stage), home_(stage) {}

    double* a() override { return home_.a(); }
    double* b() override { return home_.b(stage_.layout); }
    void filled() override { home_.sync(); }
    void poison() override {}

    void run(double* c) override {
        const Layout& layout = stage_.layout;
        start_together(stage_);
        for (int step = 0; step < layout.steps(); ++step) {
            const Panels panels = home_.panels(layout, layout.k_of_step(step));
            stage_.multiply.whole(step, panels.a, panels.b, c);
        }
    }

  private:
    Stage& stage_;
    SharedHome home_;
};

}  // namespace

const VariantKind shared_direct{
    "shared_direct",
    "shared window: multiply with the neighbour's panel where it is; no copy, no skew",
    Placement::home,
    false,
    true,
    needs_one_node,
    make<SharedDirect>};

}  // namespace slowpath::cannon
