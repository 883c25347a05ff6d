// SPDX-License-Identifier: Apache-2.0
// Shared window: copy the panel that a step needs out of its owner's memory, then multiply.
#include <cstring>

#include "cannon/variants/home.hpp"

namespace slowpath::cannon {
namespace {

class SharedCopy : public Variant {
  public:
    explicit SharedCopy(Stage& stage)
        : stage_(stage),
          home_(stage),
          a_place_(a_panel_elements(stage.layout)),
          b_place_(b_panel_elements(stage.layout)) {}

    double* a() override { return home_.a(); }
    double* b() override { return home_.b(stage_.layout); }
    void filled() override { home_.sync(); }
    void poison() override {
        fill_with_nan(a_place_.data(), a_place_.elements());
        fill_with_nan(b_place_.data(), b_place_.elements());
    }

    void run(double* c) override {
        const Layout& layout = stage_.layout;
        start_together(stage_);
        for (int step = 0; step < layout.steps(); ++step) {
            const Panels panels = copied(step);
            stage_.multiply.whole(step, panels.a, panels.b, c);
        }
    }

  private:
    Panels copied(int step) {
        const Layout& layout = stage_.layout;
        const int k = layout.k_of_step(step), me = layout.rank_at(layout.row, layout.column);
        Panels panels = home_.panels(layout, k);
        stage_.timeline.timed(Part::copy, step, [&] {
            if (layout.a_home(k) != me) panels.a = copy(panels.a, a_place_);
            if (layout.b_home(k) != me) panels.b = copy(panels.b, b_place_);
        });
        return panels;
    }
    static const double* copy(const double* from, const Memory& to) {
        std::memcpy(to.data(), from, static_cast<std::size_t>(to.elements()) * sizeof(double));
        return to.data();
    }

    Stage& stage_;
    SharedHome home_;
    Memory a_place_;
    Memory b_place_;
};

}  // namespace

const VariantKind shared_copy{"shared_copy",
                              "shared window: copy the neighbour's panel, then multiply; no skew",
                              Placement::home,
                              false,
                              true,
                              needs_one_node,
                              make<SharedCopy>};

}  // namespace slowpath::cannon
