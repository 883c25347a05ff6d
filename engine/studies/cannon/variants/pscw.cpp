// SPDX-License-Identifier: Apache-2.0
// MPI_Put between post, start, complete and wait (MPI-5.0 section 12.5.2): only neighbours synchronise.
#include <vector>

#include "cannon/variants/all.hpp"
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {
namespace {

class Group {
  public:
    /// @param ranks Repeats are taken once: with two columns, left and right are one rank.
    Group(MPI_Comm communicator, std::vector<int> ranks) {
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
        MPI_Group all = MPI_GROUP_NULL;
        mpi::check(MPI_Comm_group(communicator, &all), "MPI_Comm_group");
        mpi::check(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group_),
                   "MPI_Group_incl");
        mpi::check(MPI_Group_free(&all), "MPI_Group_free");
    }
    ~Group() {
        if (group_ != MPI_GROUP_EMPTY) MPI_Group_free(&group_);
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    MPI_Group get() const { return group_; }

  private:
    MPI_Group group_ = MPI_GROUP_NULL;
};

std::vector<int> moving(const Layout& layout, int of_a, int of_b) {
    std::vector<int> ranks;
    if (layout.a_moves()) ranks.push_back(of_a);
    if (layout.b_moves()) ranks.push_back(of_b);
    return ranks;
}

class Pscw : public PutStrips {
  public:
    explicit Pscw(Stage& stage)
        : PutStrips(stage),
          origins_(stage.communicator, moving(stage.layout, stage.layout.right(), stage.layout.down())),
          targets_(stage.communicator, moving(stage.layout, stage.layout.left(), stage.layout.up())) {}

    void run(double* c) override {
        shift_steps(
            stage_, strips_, c,
            [this](int step) {
                stage_.timeline.timed(Part::synchronise, step, [this] {
                    mpi::check(MPI_Win_post(origins_.get(), 0, window()), "MPI_Win_post");
                    mpi::check(MPI_Win_start(targets_.get(), 0, window()), "MPI_Win_start");
                });
                stage_.timeline.timed(Part::issue, step, [this] { put_both(); });
            },
            [this](int step) {
                stage_.timeline.timed(Part::synchronise, step, [this] {
                    mpi::check(MPI_Win_complete(window()), "MPI_Win_complete");
                    mpi::check(MPI_Win_wait(window()), "MPI_Win_wait");
                });
            });
    }

  private:
    Group origins_;
    Group targets_;
};

}  // namespace

const VariantKind pscw{"pscw",
                       "one-sided: MPI_Put between post, start, complete and wait of the neighbours",
                       Placement::skewed,
                       true,
                       false,
                       no_obstacle,
                       make<Pscw>};

}  // namespace slowpath::cannon
