// SPDX-License-Identifier: Apache-2.0
// Two levels: all ranks of a node multiply with the same k in a step, so that each panel from another node is
// fetched once by one of them, a step ahead, and read by the others where it lies.  Traffic between nodes
// falls by as many ranks as share a row or column there (the idea of SRUMMA: Krishnan and Nieplocha, IPDPS
// 2004).
#include "cannon/variants/node_home.hpp"

namespace slowpath::cannon {
namespace {

class TwoLevel : public Variant {
  public:
    explicit TwoLevel(Stage& stage)
        : stage_(stage),
          home_(stage),
          a_type_(a_panel_elements(stage.layout)),
          b_type_(b_panel_elements(stage.layout)) {}

    double* a() override { return home_.a(); }
    double* b() override { return home_.b(); }
    void filled() override { mpi::check(MPI_Win_sync(home_.window()), "MPI_Win_sync"); }
    void poison() override {
        const int me = stage_.layout.rank_at(stage_.layout.row, stage_.layout.column);
        for (int which = 0; which < 2; ++which) {
            fill_with_nan(home_.a_place(me, which), a_panel_elements(stage_.layout));
            fill_with_nan(home_.b_place(me, which), b_panel_elements(stage_.layout));
        }
    }

    void run(double* c) override {
        const Layout& layout = stage_.layout;
        start_together(stage_);
        fetch(0);
        arrive(0);
        for (int step = 0; step < layout.steps(); ++step) {
            const bool goes_on = step + 1 < layout.steps();
            if (goes_on) fetch(step + 1);
            stage_.multiply.whole(step, a_of(step), b_of(step), c);
            if (goes_on) arrive(step);
        }
    }

  private:
    /// Nodes begin at different panels, so that no owner is asked by all of them at once.
    int k_of(int step) const {
        const int steps = stage_.layout.steps();
        return (home_.node_index() * steps / home_.nodes() + step) % steps;
    }
    const double* a_of(int step) const {
        const int k = k_of(step);
        const double* const owner = home_.base_of(stage_.layout.a_home(k));
        return owner != nullptr ? owner + stage_.layout.a_offset(k)
                                : home_.a_place(home_.fetcher_of_row(), step % 2);
    }
    const double* b_of(int step) const {
        const Layout& layout = stage_.layout;
        const int k = k_of(step);
        const double* const owner = home_.base_of(layout.b_home(k));
        return owner != nullptr ? owner + layout.a_elements() + layout.b_offset(k)
                                : home_.b_place(home_.fetcher_of_column(), step % 2);
    }
    void fetch(int step) {
        if (home_.alone()) return;
        stage_.timeline.timed(Part::issue, step, [&] {
            const Layout& layout = stage_.layout;
            const int k = k_of(step), me = layout.rank_at(layout.row, layout.column);
            used_ = 0;
            if (home_.fetcher_of_row() == me && home_.base_of(layout.a_home(k)) == nullptr)
                get(home_.a_place(me, step % 2), a_type_, layout.a_home(k), layout.a_offset(k));
            if (home_.fetcher_of_column() == me && home_.base_of(layout.b_home(k)) == nullptr)
                get(home_.b_place(me, step % 2), b_type_, layout.b_home(k),
                    layout.a_elements() + layout.b_offset(k));
        });
    }
    void get(double* place, const StripType& type, int from, std::int64_t offset) {
        mpi::check(MPI_Rget(place, 1, type.get(), from, static_cast<MPI_Aint>(offset), 1, type.get(),
                            home_.window(), &requests_[static_cast<std::size_t>(used_)]),
                   "MPI_Rget");
        ++used_;
    }
    /// What the node fetched is there, and everybody on it is done with the places that come next.
    void arrive(int step) {
        if (home_.alone()) return;
        stage_.timeline.timed(Part::wait, step, [this] {
            mpi::check(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        });
        stage_.timeline.timed(Part::synchronise, step,
                              [this] { mpi::check(MPI_Barrier(home_.node()), "MPI_Barrier"); });
    }

    Stage& stage_;
    NodeHome home_;
    StripType a_type_;
    StripType b_type_;
    std::array<MPI_Request, 2> requests_{};
    int used_ = 0;
};

}  // namespace

const VariantKind two_level{"two_level",
                            "one MPI_Rget a node and panel, direct reads inside the node; no skew",
                            Placement::home,
                            true,
                            true,
                            no_obstacle,
                            make<TwoLevel>};

}  // namespace slowpath::cannon
