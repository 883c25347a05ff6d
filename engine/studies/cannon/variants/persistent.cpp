// SPDX-License-Identifier: Apache-2.0
// Persistent requests (MPI-5.0 section 3.9): one set for each direction of the two buffers, started anew each
// step.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

class Persistent : public TwoSided {
  public:
    explicit Persistent(Stage& stage) : TwoSided(stage) {
        const Layout& layout = stage.layout;
        for (int now = 0; now < 2; ++now, strips().turn()) {
            if (layout.a_moves())
                pair(strips().a(), layout.left(), strips().next_a(), layout.right(), a_type_, tag_a);
            if (layout.b_moves())
                pair(strips().b(), layout.up(), strips().next_b(), layout.down(), b_type_, tag_b);
        }
        count_ = static_cast<int>(requests_.size()) / 2;
    }
    ~Persistent() override {
        for (MPI_Request& request : requests_) MPI_Request_free(&request);
    }

    void run(double* c) override {
        shift_steps(
            stage_, strips(), c,
            [this](int step) {
                stage_.timeline.timed(Part::issue, step, [this] {
                    mpi::check(MPI_Startall(count_, current()), "MPI_Startall");
                });
            },
            [this](int step) {
                stage_.timeline.timed(Part::wait, step, [this] {
                    mpi::check(MPI_Waitall(count_, current(), MPI_STATUSES_IGNORE), "MPI_Waitall");
                });
            });
    }

  private:
    void pair(const double* data, int to, double* place, int from, const StripType& type, int tag) {
        MPI_Request& receive = requests_.emplace_back(MPI_REQUEST_NULL);
        mpi::check(MPI_Recv_init(place, 1, type.get(), from, tag, stage_.communicator, &receive),
                   "MPI_Recv_init");
        MPI_Request& send = requests_.emplace_back(MPI_REQUEST_NULL);
        mpi::check(MPI_Send_init(data, 1, type.get(), to, tag, stage_.communicator, &send), "MPI_Send_init");
    }
    MPI_Request* current() { return requests_.data() + strips().now * count_; }

    std::vector<MPI_Request>
        requests_;  ///< those that leave the first buffers, then those that leave the second
    int count_ = 0;
};

}  // namespace

const VariantKind persistent{"persistent",
                             "persistent requests: MPI_Startall before, MPI_Waitall after the multiplication",
                             Placement::skewed,
                             true,
                             false,
                             no_obstacle,
                             make<Persistent>};

}  // namespace slowpath::cannon
