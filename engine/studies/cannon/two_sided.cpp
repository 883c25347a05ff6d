// SPDX-License-Identifier: Apache-2.0
// Variants that send and receive strips, and the yardsticks without communication.
#include "cannon/variant.hpp"
#include "mpi/session.hpp"

namespace slowpath::cannon {

// What variants that send and receive strips share: two buffers for each strip, and all calls for one step.

class TwoSided : public Variant {
  public:
    explicit TwoSided(Stage& stage)
        : stage_(stage), a_type_(stage.layout.a_elements()), b_type_(stage.layout.b_elements()) {}

    double* a() override { return stage_.own.strips.a_places[0]; }
    double* b() override { return stage_.own.strips.b_places[0]; }
    void poison() override { stage_.own.poison(stage_.layout); }

  protected:
    Strips& strips() { return stage_.own.strips; }

    /// The local multiplications of all steps, with the strips that this rank has: nothing moves.
    void multiply_all_steps(double* c) {
        const Layout& layout = stage_.layout;
        for (int step = 0; step < layout.steps(); ++step) {
            const int k = layout.k_of_step(step);
            stage_.multiply.whole(step, a() + layout.a_offset(k), b() + layout.b_offset(k), c);
        }
    }

    Stage& stage_;
    StripType a_type_;
    StripType b_type_;
};

// The same local multiplications without any communication: the ceiling.  Each step multiplies with the
// strips that this rank was given, so that the product is another one; it is not checked.

namespace {

class ComputeOnly : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override { multiply_all_steps(c); }
};

}  // namespace

const VariantKind compute_only{"compute_only",
                               "the local multiplications alone, no communication: the ceiling",
                               Placement::skewed,
                               true,
                               true,
                               no_obstacle,
                               make<ComputeOnly>};

// Rank 0's local multiplications while all other ranks sleep: what one core does when it has the machine to
// itself.  The others sleep until it is done, since a rank that spins shares power, caches and memory with
// it.

namespace {

class DgemmAlone : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        if (stage_.layout.row == 0 && stage_.layout.column == 0) multiply_all_steps(c);
    }
    void settle() override { wait_asleep(stage_.communicator); }
};

}  // namespace

const VariantKind dgemm_alone{
    "dgemm_alone",
    "the local multiplications of rank 0 while the other ranks sleep: one core alone",
    Placement::skewed,
    true,
    true,
    no_obstacle,
    make<DgemmAlone>};

// The textbook form: multiply, then MPI_Sendrecv_replace each strip (MPI-5.0 section 3.10), which hides a
// copy of it.

namespace {

class SendrecvReplace : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        const Layout& layout = stage_.layout;
        for (int step = 0; step < layout.steps(); ++step) {
            const int k = layout.k_of_step(step);
            stage_.multiply.whole(step, a() + layout.a_offset(k), b() + layout.b_offset(k), c);
            if (step + 1 == layout.steps()) return;
            stage_.timeline.timed(Part::wait, step, [&] { shift(); });
        }
    }

  private:
    void shift() {
        const Layout& layout = stage_.layout;
        if (layout.a_moves())
            mpi::check(MPI_Sendrecv_replace(a(), 1, a_type_.get(), layout.left(), tag_a, layout.right(),
                                            tag_a, stage_.communicator, MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
        if (layout.b_moves())
            mpi::check(MPI_Sendrecv_replace(b(), 1, b_type_.get(), layout.up(), tag_b, layout.down(), tag_b,
                                            stage_.communicator, MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
    }
};

}  // namespace

const VariantKind sendrecv_replace{"sendrecv_replace",
                                   "blocking: multiply, then MPI_Sendrecv_replace",
                                   Placement::skewed,
                                   true,
                                   false,
                                   no_obstacle,
                                   make<SendrecvReplace>};

// Blocking with a second buffer for each strip: MPI_Sendrecv needs no hidden copy.

namespace {

class Sendrecv : public TwoSided {
  public:
    using TwoSided::TwoSided;
    void run(double* c) override {
        shift_steps(
            stage_, strips(), c, [](int) {},
            [this](int step) { stage_.timeline.timed(Part::wait, step, [this] { shift(); }); });
    }

  private:
    void shift() {
        const Layout& layout = stage_.layout;
        if (layout.a_moves())
            mpi::check(
                MPI_Sendrecv(strips().a(), 1, a_type_.get(), layout.left(), tag_a, strips().next_a(), 1,
                             a_type_.get(), layout.right(), tag_a, stage_.communicator, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
        if (layout.b_moves())
            mpi::check(
                MPI_Sendrecv(strips().b(), 1, b_type_.get(), layout.up(), tag_b, strips().next_b(), 1,
                             b_type_.get(), layout.down(), tag_b, stage_.communicator, MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
};

}  // namespace

const VariantKind sendrecv{"sendrecv",
                           "blocking: multiply, then MPI_Sendrecv into a second buffer",
                           Placement::skewed,
                           true,
                           false,
                           no_obstacle,
                           make<Sendrecv>};

// Non-blocking transfers of one step: all started at once, receives first.

class Isend : public TwoSided {
  public:
    using TwoSided::TwoSided;

  protected:
    void start(int step) {
        stage_.timeline.timed(Part::issue, step, [this] {
            const Layout& layout = stage_.layout;
            used_ = 0;
            if (layout.a_moves())
                pair(strips().a(), layout.left(), strips().next_a(), layout.right(), a_type_, tag_a);
            if (layout.b_moves())
                pair(strips().b(), layout.up(), strips().next_b(), layout.down(), b_type_, tag_b);
        });
    }
    void wait(int step) {
        stage_.timeline.timed(Part::wait, step, [this] {
            mpi::check(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        });
    }
    void test() {
        int done = 0;
        mpi::check(MPI_Testall(used_, requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    }

  private:
    void pair(const double* data, int to, double* place, int from, const StripType& type, int tag) {
        MPI_Request* const requests = requests_.data() + used_;
        mpi::check(MPI_Irecv(place, 1, type.get(), from, tag, stage_.communicator, &requests[0]),
                   "MPI_Irecv");
        mpi::check(MPI_Isend(data, 1, type.get(), to, tag, stage_.communicator, &requests[1]), "MPI_Isend");
        used_ += 2;
    }
    std::array<MPI_Request, 4> requests_{};
    int used_ = 0;
};

// Non-blocking: transfers start before the multiplication and are waited for after it.

namespace {

class IsendWait : public Isend {
  public:
    using Isend::Isend;
    void run(double* c) override {
        shift_steps(stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); });
    }
};

}  // namespace

const VariantKind isend_wait{
    "isend_wait",
    "non-blocking: MPI_Isend and MPI_Irecv before, MPI_Waitall after the multiplication",
    Placement::skewed,
    true,
    false,
    no_obstacle,
    make<IsendWait>};

// Non-blocking, with MPI_Testall between pieces of the multiplication, for libraries that move data only
// inside calls.

namespace {

class IsendTest : public Isend {
  public:
    using Isend::Isend;
    void run(double* c) override {
        const std::function<void()> poke = [this] { test(); };
        shift_steps(
            stage_, strips(), c, [this](int step) { start(step); }, [this](int step) { wait(step); }, &poke);
    }
    std::string remark() const override {
        if (stage_.layout.steps() == 1) return {};
        return "k of a step in " + std::to_string(stage_.multiply.pieces()) + " pieces of " +
               std::to_string(stage_.multiply.piece_columns()) + " columns, MPI_Testall between them";
    }
};

/// Without a cut there is no MPI_Testall, and it would be isend_wait under another name.
std::optional<std::string> one_column(const Stage& stage) {
    if (stage.layout.steps() == 1 || stage.layout.panel() > 1) return std::nullopt;
    return "each step multiplies 1 column of k, which can't be cut for an MPI_Testall; take n=" +
           std::to_string(2 * stage.layout.steps()) + " or more";
}

}  // namespace

const VariantKind isend_test{"isend_test",
                             "non-blocking, with MPI_Testall between pieces of the multiplication",
                             Placement::skewed,
                             true,
                             false,
                             one_column,
                             make<IsendTest>};

// Non-blocking, with tests of A's and of B's transfer by themselves, in either order, and each strip sent on
// as soon as it has arrived.

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
