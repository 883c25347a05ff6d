// SPDX-License-Identifier: Apache-2.0
// One neighbourhood collective a step (MPI-5.0 section 8.7): the library sees both transfers together.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class Neighbourhood : public TwoSided {
  public:
    explicit Neighbourhood(Stage& stage) : TwoSided(stage) {
        const Layout& layout = stage.layout;
        std::vector<int> sources, targets;
        if (layout.a_moves()) add(sources, targets, layout.right(), layout.left(), a_type_);
        if (layout.b_moves()) add(sources, targets, layout.down(), layout.up(), b_type_);
        const int degree = static_cast<int>(sources.size());
        mpi::check(
            MPI_Dist_graph_create_adjacent(stage.communicator, degree, sources.data(), MPI_UNWEIGHTED, degree,
                                           targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
            "MPI_Dist_graph_create_adjacent");
        counts_.assign(types_.size(), 1);
    }
    ~Neighbourhood() override { MPI_Comm_free(&graph_); }

    void run(double* c) override {
        shift_steps(
            stage_, strips(), c,
            [this](int step) { stage_.timeline.timed(Part::issue, step, [this] { start(); }); },
            [this](int step) {
                stage_.timeline.timed(Part::wait, step, [this] {
                    mpi::check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
                });
            });
    }

  private:
    void add(std::vector<int>& sources, std::vector<int>& targets, int source, int target,
             const StripType& type) {
        sources.push_back(source);
        targets.push_back(target);
        types_.push_back(type.get());
    }
    static MPI_Aint address(const double* data) {
        MPI_Aint found = 0;
        mpi::check(MPI_Get_address(data, &found), "MPI_Get_address");
        return found;
    }
    void start() {
        const Layout& layout = stage_.layout;
        // They must stay until the operation is complete (MPI-5.0 section 6.12).
        from_.clear();
        to_.clear();
        if (layout.a_moves())
            from_.push_back(address(strips().a())), to_.push_back(address(strips().next_a()));
        if (layout.b_moves())
            from_.push_back(address(strips().b())), to_.push_back(address(strips().next_b()));
        mpi::check(
            MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts_.data(), from_.data(), types_.data(), MPI_BOTTOM,
                                    counts_.data(), to_.data(), types_.data(), graph_, &request_),
            "MPI_Ineighbor_alltoallw");
    }

    MPI_Comm graph_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    std::vector<MPI_Datatype> types_;
    std::vector<int> counts_;
    std::vector<MPI_Aint> from_, to_;
};

}  // namespace

const VariantKind neighbourhood{"neighbourhood",
                                "one MPI_Ineighbor_alltoallw a step, started before the multiplication",
                                Placement::skewed,
                                true,
                                false,
                                no_obstacle,
                                make<Neighbourhood>};

}  // namespace slowpath::cannon
