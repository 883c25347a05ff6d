// SPDX-License-Identifier: Apache-2.0
// Partitioned communication (MPI-5.0 section 4.2): both sides agree once on strips in four partitions.
#include "cannon/variants/two_sided.hpp"
#include "mpi/optional.hpp"

namespace slowpath::cannon {
namespace {

constexpr const char* not_there = "this MPI library has no MPI_Psend_init (MPI-4.0)";

#ifdef SLOWPATH_HAVE_MPI_PARTITIONED

constexpr int partitions = 4;
constexpr int first_tag =
    21;  // their matching is apart from that of other messages, their tags too, for readers

/// Elements of each partition; the strip may be padded by the library's user, never cut.
std::int64_t partition_elements(std::int64_t elements) {
    return elements / partitions;
}

class Partitioned : public TwoSided {
  public:
    explicit Partitioned(Stage& stage) : TwoSided(stage) {
        const Layout& layout = stage.layout;
        for (int now = 0; now < 2; ++now, strips().turn()) {
            if (layout.a_moves())
                pair(strips().a(), layout.left(), strips().next_a(), layout.right(), layout.a_elements(),
                     first_tag);
            if (layout.b_moves())
                pair(strips().b(), layout.up(), strips().next_b(), layout.down(), layout.b_elements(),
                     first_tag + 1);
        }
        count_ = static_cast<int>(requests_.size()) / 2;
    }
    ~Partitioned() override {
        for (MPI_Request& request : requests_) MPI_Request_free(&request);
    }

    void run(double* c) override {
        shift_steps(
            stage_, strips(), c,
            [this](int step) { stage_.timeline.timed(Part::issue, step, [this] { start(); }); },
            [this](int step) {
                stage_.timeline.timed(Part::wait, step, [this] {
                    mpi::check(MPI_Waitall(count_, current(), MPI_STATUSES_IGNORE), "MPI_Waitall");
                });
            });
    }

  private:
    void pair(double* data, int to, double* place, int from, std::int64_t elements, int tag) {
        const MPI_Count each = partition_elements(elements);
        MPI_Request& receive = requests_.emplace_back(MPI_REQUEST_NULL);
        mpi::check(MPI_Precv_init(place, partitions, each, MPI_DOUBLE, from, tag, stage_.communicator,
                                  MPI_INFO_NULL, &receive),
                   "MPI_Precv_init");
        MPI_Request& send = requests_.emplace_back(MPI_REQUEST_NULL);
        mpi::check(MPI_Psend_init(data, partitions, each, MPI_DOUBLE, to, tag, stage_.communicator,
                                  MPI_INFO_NULL, &send),
                   "MPI_Psend_init");
    }
    void start() {
        mpi::check(MPI_Startall(count_, current()), "MPI_Startall");
        for (int i = 1; i < count_; i += 2)
            mpi::check(MPI_Pready_range(0, partitions - 1, current()[i]), "MPI_Pready_range");
    }
    MPI_Request* current() { return requests_.data() + strips().now * count_; }

    std::vector<MPI_Request> requests_;  ///< receive and send in turn; first buffers, then second
    int count_ = 0;
};

std::optional<std::string> obstacle(const Stage& stage) {
    if (!mpi::is_there(MPI_Psend_init) || !mpi::is_there(MPI_Pready_range)) return not_there;
    if (stage.layout.a_elements() % partitions == 0 && stage.layout.b_elements() % partitions == 0)
        return std::nullopt;
    return "its strips don't divide into " + std::to_string(partitions) + " partitions; take another n";
}

std::unique_ptr<Variant> make_partitioned(Stage& stage) {
    return std::make_unique<Partitioned>(stage);
}

#else

std::optional<std::string> obstacle(const Stage&) {
    return not_there;
}

std::unique_ptr<Variant> make_partitioned(Stage&) {
    return nullptr;
}

#endif

}  // namespace

const VariantKind partitioned{
    "partitioned",
    "partitioned: MPI_Psend_init once, MPI_Start and MPI_Pready before, MPI_Waitall after",
    Placement::skewed,
    true,
    false,
    obstacle,
    make_partitioned};

}  // namespace slowpath::cannon
