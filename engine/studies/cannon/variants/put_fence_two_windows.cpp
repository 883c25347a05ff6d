// SPDX-License-Identifier: Apache-2.0
// The study's form: a window for each place of each strip, with a fence of its own before and after each
// step, so that one of the two streams is always a step ahead.
#include "cannon/variants/all.hpp"
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {
namespace {

class PutFenceTwoWindows : public Variant {
  public:
    explicit PutFenceTwoWindows(Stage& stage)
        : stage_(stage),
          a_windows_{Exposed(stage, stage.layout.a_elements()), Exposed(stage, stage.layout.a_elements())},
          b_windows_{Exposed(stage, stage.layout.b_elements()), Exposed(stage, stage.layout.b_elements())},
          a_type_(stage.layout.a_elements()),
          b_type_(stage.layout.b_elements()) {
        strips_ = {{a_windows_[0].data(), a_windows_[1].data()},
                   {b_windows_[0].data(), b_windows_[1].data()},
                   stage.layout.b_moves()};
    }
    double* a() override { return strips_.a_places[0]; }
    double* b() override { return strips_.b_places[0]; }
    void poison() override {
        fill_with_nan(strips_.a_places[1], stage_.layout.a_elements());
        if (strips_.b_moves) fill_with_nan(strips_.b_places[1], stage_.layout.b_elements());
    }

    void run(double* c) override {
        shift_steps(
            stage_, strips_, c,
            [this](int step) {
                fence(step, MPI_MODE_NOPRECEDE);
                stage_.timeline.timed(Part::issue, step, [this] { put_both(); });
            },
            [this](int step) { fence(step, MPI_MODE_NOSUCCEED); });
    }

  private:
    void fence(int step, int assertion) {
        stage_.timeline.timed(Part::synchronise, step, [&] {
            if (stage_.layout.a_moves())
                mpi::check(MPI_Win_fence(assertion, next(a_windows_).get()), "MPI_Win_fence");
            if (stage_.layout.b_moves())
                mpi::check(MPI_Win_fence(assertion, next(b_windows_).get()), "MPI_Win_fence");
        });
    }
    void put_both() {
        const Layout& layout = stage_.layout;
        if (layout.a_moves())
            mpi::check(MPI_Put(strips_.a(), 1, a_type_.get(), layout.left(), 0, 1, a_type_.get(),
                               next(a_windows_).get()),
                       "MPI_Put");
        if (layout.b_moves())
            mpi::check(MPI_Put(strips_.b(), 1, b_type_.get(), layout.up(), 0, 1, b_type_.get(),
                               next(b_windows_).get()),
                       "MPI_Put");
    }
    const Exposed& next(const std::array<Exposed, 2>& windows) const {
        return windows[static_cast<std::size_t>(strips_.next())];
    }

    Stage& stage_;
    std::array<Exposed, 2> a_windows_;
    std::array<Exposed, 2> b_windows_;
    Strips strips_;
    StripType a_type_;
    StripType b_type_;
};

}  // namespace

const VariantKind put_fence_two_windows{
    "put_fence_two_windows",
    "one-sided: MPI_Put and MPI_Win_fence with two windows a stream, one always a step ahead",
    Placement::skewed,
    true,
    false,
    no_obstacle,
    make<PutFenceTwoWindows>};

}  // namespace slowpath::cannon
