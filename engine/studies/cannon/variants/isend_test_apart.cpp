// SPDX-License-Identifier: Apache-2.0
// Non-blocking, with tests of A's and of B's transfer by themselves, in either order, and each strip sent on
// as soon as it has arrived.
#include "cannon/variants/two_sided.hpp"

namespace slowpath::cannon {
namespace {

/// The transfer of one strip to the next place, and that of the following step as far as it has begun.
class Stream {
  public:
    Stream(MPI_Comm communicator, const StripType& type, int to, int from, int tag)
        : communicator_(communicator), type_(type), to_(to), from_(from), tag_(tag) {}

    void restart() { sent_ahead_ = false; }

    /// @param data Strip of this step.  @param place Receives that of the next step.
    void start(const double* data, double* place) {
        place_ = place;
        mpi::check(MPI_Irecv(place, 1, type_.get(), from_, tag_, communicator_, &requests_[0]), "MPI_Irecv");
        if (sent_ahead_)
            requests_[1] = ahead_;
        else
            send(data, requests_[1]);
        sent_ahead_ = false;
    }

    /// @param another Another transfer follows this one: its strip may leave as soon as it is here.
    void test(bool another) {
        int done = 0;
        if (sent_ahead_) {
            mpi::check(MPI_Test(&ahead_, &done, MPI_STATUS_IGNORE), "MPI_Test");
            return;
        }
        mpi::check(MPI_Testall(2, requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
        if (done == 0 || !another) return;
        send(place_, ahead_);
        sent_ahead_ = true;
    }

    void wait() { mpi::check(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall"); }

  private:
    void send(const double* data, MPI_Request& request) {
        mpi::check(MPI_Isend(data, 1, type_.get(), to_, tag_, communicator_, &request), "MPI_Isend");
    }

    MPI_Comm communicator_;
    const StripType& type_;
    int to_, from_, tag_;
    double* place_ = nullptr;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};  ///< receive, send
    MPI_Request ahead_ = MPI_REQUEST_NULL;
    bool sent_ahead_ = false;  ///< the strip of the next step is on its way already
};

class IsendTestApart : public TwoSided {
  public:
    explicit IsendTestApart(Stage& stage)
        : TwoSided(stage),
          a_stream_(stage.communicator, a_type_, stage.layout.left(), stage.layout.right(), tag_a),
          b_stream_(stage.communicator, b_type_, stage.layout.up(), stage.layout.down(), tag_b) {}

    void run(double* c) override {
        a_stream_.restart();
        b_stream_.restart();
        const std::function<void()> poke = [this] { test(); };
        shift_steps(
            stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); }, &poke);
    }

    std::string remark() const override {
        if (stage_.layout.steps() == 1) return {};
        const Layout& layout = stage_.layout;
        const std::string alone = layout.a_moves() && layout.b_moves() ? ""
                                  : layout.a_moves() ? "; only A moves here, so one stream is tested"
                                                     : "; only B moves here, so one stream is tested";
        return "k of a step in " + std::to_string(stage_.multiply.pieces()) + " pieces of " +
               std::to_string(stage_.multiply.piece_columns()) +
               " columns, A and B tested by themselves between them" + alone;
    }

  private:
    void start(int step) {
        another_ = step + 2 < stage_.layout.steps();
        stage_.timeline.timed(Part::issue, step, [this] {
            if (stage_.layout.a_moves()) a_stream_.start(strips().a(), strips().next_a());
            if (stage_.layout.b_moves()) b_stream_.start(strips().b(), strips().next_b());
        });
    }

    /// Which one is tested first alternates, so that neither stream has to wait for the other.
    void test() {
        b_first_ = !b_first_;
        if (b_first_ && stage_.layout.b_moves()) b_stream_.test(another_);
        if (stage_.layout.a_moves()) a_stream_.test(another_);
        if (!b_first_ && stage_.layout.b_moves()) b_stream_.test(another_);
    }

    void wait(int step) {
        stage_.timeline.timed(Part::wait, step, [this] {
            if (stage_.layout.a_moves()) a_stream_.wait();
            if (stage_.layout.b_moves()) b_stream_.wait();
        });
    }

    Stream a_stream_, b_stream_;
    bool another_ = false;
    bool b_first_ = false;
};

/// Without a cut there is no test, and it would be isend_wait under another name.
std::optional<std::string> one_column(const Stage& stage) {
    if (stage.layout.steps() == 1 || stage.layout.panel() > 1) return std::nullopt;
    return "each step multiplies 1 column of k, which can't be cut for a test; take n=" +
           std::to_string(2 * stage.layout.steps()) + " or more";
}

}  // namespace

const VariantKind isend_test_apart{
    "isend_test_apart",
    "non-blocking, A's and B's transfers tested by themselves and each strip sent on as soon as it is here",
    Placement::skewed,
    true,
    false,
    one_column,
    make<IsendTestApart>};

}  // namespace slowpath::cannon
