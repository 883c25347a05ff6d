// SPDX-License-Identifier: Apache-2.0
// MPI_Rget of the next step's panels from their owners while this step multiplies; lock_all once.
#include "cannon/variants/home.hpp"

namespace slowpath::cannon {
namespace {

class GetFromHome : public Variant {
  public:
    explicit GetFromHome(Stage& stage)
        : stage_(stage),
          home_(stage, stage.layout.a_elements() + stage.layout.b_elements()),
          a_places_{Memory(a_panel_elements(stage.layout)), Memory(a_panel_elements(stage.layout))},
          b_places_{Memory(b_panel_elements(stage.layout)), Memory(b_panel_elements(stage.layout))},
          a_type_(a_panel_elements(stage.layout)),
          b_type_(b_panel_elements(stage.layout)) {
        mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, home_.get()), "MPI_Win_lock_all");
    }
    ~GetFromHome() override { MPI_Win_unlock_all(home_.get()); }

    double* a() override { return home_.data(); }
    double* b() override { return home_.data() + stage_.layout.a_elements(); }
    void filled() override { mpi::check(MPI_Win_sync(home_.get()), "MPI_Win_sync"); }
    void poison() override {
        for (const Memory& place : a_places_) fill_with_nan(place.data(), place.elements());
        for (const Memory& place : b_places_) fill_with_nan(place.data(), place.elements());
    }

    void run(double* c) override {
        const Layout& layout = stage_.layout;
        start_together(stage_);
        Panels now = fetch(0);
        wait(0);
        for (int step = 0; step < layout.steps(); ++step) {
            const bool goes_on = step + 1 < layout.steps();
            const Panels next = goes_on ? fetch(step + 1) : Panels{};
            stage_.multiply.whole(step, now.a, now.b, c);
            if (!goes_on) return;
            wait(step);
            now = next;
        }
    }

  private:
    /// Starts reading what `step` multiplies into its places; panels at home here are used where they are.
    Panels fetch(int step) {
        Panels panels;
        stage_.timeline.timed(Part::issue, step, [&] {
            const Layout& layout = stage_.layout;
            const int k = layout.k_of_step(step), me = layout.rank_at(layout.row, layout.column);
            const auto place = static_cast<std::size_t>(step % 2);
            used_ = 0;
            panels.a = a() + layout.a_offset(k);
            if (layout.a_home(k) != me)
                panels.a = get(a_places_[place], a_type_, layout.a_home(k), layout.a_offset(k));
            panels.b = b() + layout.b_offset(k);
            if (layout.b_home(k) != me)
                panels.b = get(b_places_[place], b_type_, layout.b_home(k),
                               layout.a_elements() + layout.b_offset(k));
        });
        return panels;
    }
    const double* get(const Memory& place, const StripType& type, int from, std::int64_t offset) {
        mpi::check(MPI_Rget(place.data(), 1, type.get(), from, static_cast<MPI_Aint>(offset), 1, type.get(),
                            home_.get(), &requests_[static_cast<std::size_t>(used_)]),
                   "MPI_Rget");
        ++used_;
        return place.data();
    }
    void wait(int step) {
        stage_.timeline.timed(Part::wait, step, [this] {
            mpi::check(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        });
    }

    Stage& stage_;
    Exposed home_;
    std::array<Memory, 2> a_places_;
    std::array<Memory, 2> b_places_;
    StripType a_type_;
    StripType b_type_;
    std::array<MPI_Request, 2> requests_{};
    int used_ = 0;
};

}  // namespace

const VariantKind get_from_home{"get_from_home",
                                "one-sided: MPI_Rget of the next step's panels from their owners; no skew",
                                Placement::home,
                                true,
                                true,
                                no_obstacle,
                                make<GetFromHome>};

}  // namespace slowpath::cannon
