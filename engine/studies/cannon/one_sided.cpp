// SPDX-License-Identifier: Apache-2.0
// Variants with windows, shared memory included.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "cannon/variant.hpp"
#include "mpi/session.hpp"

namespace slowpath::cannon {

// Memory that other ranks put into or get from: a window by MPI_Win_allocate, or by MPI_Win_create on our
// own memory.

class Exposed {
  public:
    /// Collective.  @param elements Doubles of this rank; displacements are in doubles.
    Exposed(const Stage& stage, std::int64_t elements);
    ~Exposed();
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;

    MPI_Win get() const { return window_; }
    double* data() const { return data_; }

  private:
    std::optional<Memory> own_;  ///< MPI_Win_create
    double* data_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

/// Strips in a window, two places for A and two for B: what variants that put share.
class PutStrips : public Variant {
  public:
    explicit PutStrips(Stage& stage);
    double* a() override { return strips_.a_places[0]; }
    double* b() override { return strips_.b_places[0]; }
    void poison() override;

  protected:
    /// Both strips into the next places of the left and the upper neighbour.
    void put_both();
    MPI_Win window() const { return exposed_.get(); }

    Stage& stage_;
    Exposed exposed_;
    Strips strips_;
    StripType a_type_;
    StripType b_type_;

  private:
    MPI_Aint place_of_a(int which) const { return which * stage_.layout.a_elements(); }
    MPI_Aint place_of_b(int which) const {
        return 2 * stage_.layout.a_elements() + which * stage_.layout.b_elements();
    }
};

Exposed::Exposed(const Stage& stage, std::int64_t elements) {
    const auto bytes = static_cast<MPI_Aint>(elements * static_cast<std::int64_t>(sizeof(double)));
    if (stage.window == WindowMemory::create) {
        own_.emplace(elements);
        data_ = own_->data();
        mpi::check(MPI_Win_create(data_, bytes, sizeof(double), MPI_INFO_NULL, stage.communicator, &window_),
                   "MPI_Win_create");
    } else {
        mpi::check(MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, stage.communicator,
                                    static_cast<void*>(&data_), &window_),
                   "MPI_Win_allocate");
        std::fill_n(data_, elements, 0.0);
    }
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
}

Exposed::~Exposed() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

PutStrips::PutStrips(Stage& stage)
    : stage_(stage),
      exposed_(stage, 2 * (stage.layout.a_elements() + stage.layout.b_elements())),
      a_type_(stage.layout.a_elements()),
      b_type_(stage.layout.b_elements()) {
    double* const base = exposed_.data();
    strips_ = {{base + place_of_a(0), base + place_of_a(1)},
               {base + place_of_b(0), base + place_of_b(1)},
               stage.layout.b_moves()};
}

void PutStrips::poison() {
    fill_with_nan(strips_.a_places[1], stage_.layout.a_elements());
    if (strips_.b_moves) fill_with_nan(strips_.b_places[1], stage_.layout.b_elements());
}

void PutStrips::put_both() {
    const Layout& layout = stage_.layout;
    if (layout.a_moves())
        mpi::check(MPI_Put(strips_.a(), 1, a_type_.get(), layout.left(), place_of_a(strips_.next()), 1,
                           a_type_.get(), window()),
                   "MPI_Put");
    if (layout.b_moves())
        mpi::check(MPI_Put(strips_.b(), 1, b_type_.get(), layout.up(), place_of_b(strips_.next()), 1,
                           b_type_.get(), window()),
                   "MPI_Put");
}

// MPI_Put before the multiplication, one MPI_Win_fence after it (MPI-5.0 section 12.5.1): it ends the epoch
// of this step and begins that of the next one.  One window holds both places of both strips, so that nothing
// else is needed.

namespace {

class PutFence : public PutStrips {
  public:
    using PutStrips::PutStrips;
    void run(double* c) override {
        const int last = stage_.layout.steps() - 1;
        if (last > 0) fence(0, MPI_MODE_NOPRECEDE);
        shift_steps(
            stage_, strips_, c,
            [this](int step) { stage_.timeline.timed(Part::issue, step, [this] { put_both(); }); },
            [this, last](int step) { fence(step, step + 1 == last ? MPI_MODE_NOSUCCEED : 0); });
    }

  private:
    void fence(int step, int assertion) {
        stage_.timeline.timed(Part::synchronise, step,
                              [&] { mpi::check(MPI_Win_fence(assertion, window()), "MPI_Win_fence"); });
    }
};

}  // namespace

const VariantKind put_fence{"put_fence",
                            "one-sided: MPI_Put before, MPI_Win_fence after the multiplication; one window",
                            Placement::skewed,
                            true,
                            false,
                            no_obstacle,
                            make<PutFence>};

// The study's form: a window for each place of each strip, with a fence of its own before and after each
// step, so that one of the two streams is always a step ahead.

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

// MPI_Put between post, start, complete and wait (MPI-5.0 section 12.5.2): only neighbours synchronise.

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

// Passive target: MPI_Put, a flush, then a flag in the target's window that the target polls (MPI-5.0
// section 12.7.3). A second flag gives the place free again; both carry the number of the step, which grows
// for ever.

namespace {

/// Flags of a rank, each on a cache line of its own.
enum Flag : MPI_Aint { a_arrived = 0, b_arrived = 8, a_free = 16, b_free = 24, flags = 32 };

class PutFlag : public PutStrips {
  public:
    explicit PutFlag(Stage& stage) : PutStrips(stage) {
        mpi::check(MPI_Win_allocate(flags * sizeof(std::int64_t), sizeof(std::int64_t), MPI_INFO_NULL,
                                    stage.communicator, static_cast<void*>(&mine_), &flag_window_),
                   "MPI_Win_allocate");
        mpi::check(MPI_Win_set_errhandler(flag_window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
        std::fill_n(mine_, static_cast<std::size_t>(flags), 0);
        mpi::check(MPI_Barrier(stage.communicator), "MPI_Barrier");
        mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window()), "MPI_Win_lock_all");
        mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, flag_window_), "MPI_Win_lock_all");
    }
    ~PutFlag() override {
        MPI_Win_unlock_all(flag_window_);
        MPI_Win_unlock_all(window());
        MPI_Win_free(&flag_window_);
    }
    void filled() override { mpi::check(MPI_Win_sync(window()), "MPI_Win_sync"); }

    void run(double* c) override {
        shift_steps(stage_, strips_, c, [this](int step) { begin(step); }, [this](int step) { end(step); });
    }

  private:
    void begin(int step) {
        const Layout& layout = stage_.layout;
        ++number_;
        // In the first step the barrier between repetitions says that the places are free.
        if (step > 0)
            stage_.timeline.timed(Part::synchronise, step, [&] { await(a_free, b_free, number_ - 1); });
        stage_.timeline.timed(Part::issue, step, [&] {
            put_both();
            mpi::check(MPI_Win_flush_all(window()), "MPI_Win_flush_all");
            raise(layout.left(), a_arrived, layout.up(), b_arrived);
        });
    }
    void end(int step) {
        const Layout& layout = stage_.layout;
        stage_.timeline.timed(Part::synchronise, step, [&] {
            if (step + 2 < layout.steps()) raise(layout.right(), a_free, layout.down(), b_free);
        });
        stage_.timeline.timed(Part::wait, step, [&] {
            await(a_arrived, b_arrived, number_);
            mpi::check(MPI_Win_sync(window()), "MPI_Win_sync");
        });
    }
    void raise(int a_rank, Flag a_flag, int b_rank, Flag b_flag) {
        if (stage_.layout.a_moves()) raise_one(a_rank, a_flag);
        if (stage_.layout.b_moves()) raise_one(b_rank, b_flag);
        mpi::check(MPI_Win_flush_all(flag_window_), "MPI_Win_flush_all");
    }
    void raise_one(int rank, Flag flag) {
        // Accumulate, not Put: single elements arrive whole (MPI-5.0 section 12.7.1).
        mpi::check(
            MPI_Accumulate(&number_, 1, MPI_INT64_T, rank, flag, 1, MPI_INT64_T, MPI_REPLACE, flag_window_),
            "MPI_Accumulate");
    }
    void await(Flag a_flag, Flag b_flag, std::int64_t number) {
        if (stage_.layout.a_moves()) await_one(a_flag, number);
        if (stage_.layout.b_moves()) await_one(b_flag, number);
    }
    void await_one(Flag flag, std::int64_t number) {
        const std::atomic_ref<std::int64_t> value(mine_[flag]);
        while (value.load(std::memory_order_acquire) < number) {
            // Libraries that carry out puts at the target need a call there to go on.
            int found = 0;
            mpi::check(
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, stage_.communicator, &found, MPI_STATUS_IGNORE),
                "MPI_Iprobe");
            mpi::check(MPI_Win_sync(flag_window_), "MPI_Win_sync");
        }
    }

    MPI_Win flag_window_ = MPI_WIN_NULL;
    std::int64_t* mine_ = nullptr;
    std::int64_t number_ = 0;
};

}  // namespace

const VariantKind put_flag{
    "put_flag",
    "one-sided: MPI_Put under lock_all, then a flag in the target's window that it polls",
    Placement::skewed,
    true,
    false,
    no_obstacle,
    make<PutFlag>};

// Variants whose inputs stay at home: each step reads its panels where they are, so that there is no skew,
// no chain and no synchronisation of steps.  The inputs are read only.

/// One panel of each matrix.
struct Panels {
    const double* a = nullptr;
    const double* b = nullptr;
};

/// Sizes of what one step multiplies.
inline std::int64_t a_panel_elements(const Layout& layout) {
    return layout.c_rows() * layout.panel();
}
inline std::int64_t b_panel_elements(const Layout& layout) {
    return layout.panel() * layout.c_columns();
}

/// The owners' inputs must be there before anybody reads them: part of what such a variant costs.
inline void start_together(Stage& stage) {
    stage.timeline.timed(Part::synchronise, 0,
                         [&] { mpi::check(MPI_Barrier(stage.communicator), "MPI_Barrier"); });
}

/// All ranks' inputs in shared memory of one node, each rank's where that rank touched it first.
class SharedHome {
  public:
    explicit SharedHome(const Stage& stage);
    ~SharedHome();
    SharedHome(const SharedHome&) = delete;
    SharedHome& operator=(const SharedHome&) = delete;

    double* a() const { return mine_; }
    double* b(const Layout& layout) const { return mine_ + layout.a_elements(); }
    MPI_Win window() const { return window_; }
    /// Panel k as its owner holds it; the pointer is to the owner's own memory.
    Panels panels(const Layout& layout, int k) const;
    void sync() const { mpi::check(MPI_Win_sync(window_), "MPI_Win_sync"); }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    double* mine_ = nullptr;
    std::vector<const double*> bases_;  ///< by rank
};

SharedHome::SharedHome(const Stage& stage) {
    const Layout& layout = stage.layout;
    const std::int64_t elements = layout.a_elements() + layout.b_elements();
    MPI_Info info = MPI_INFO_NULL;
    mpi::check(MPI_Info_create(&info), "MPI_Info_create");
    // Each rank's part on pages of its own, so that first touch puts them into its NUMA node.
    mpi::check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    mpi::check(MPI_Win_allocate_shared(
                   static_cast<MPI_Aint>(elements) * static_cast<MPI_Aint>(sizeof(double)), sizeof(double),
                   info, stage.communicator, static_cast<void*>(&mine_), &window_),
               "MPI_Win_allocate_shared");
    mpi::check(MPI_Info_free(&info), "MPI_Info_free");
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    std::fill_n(mine_, elements, 0.0);
    bases_.resize(static_cast<std::size_t>(layout.rows) * static_cast<std::size_t>(layout.columns));
    for (std::size_t rank = 0; rank < bases_.size(); ++rank) {
        MPI_Aint bytes = 0;
        int unit = 0;
        double* base = nullptr;
        mpi::check(
            MPI_Win_shared_query(window_, static_cast<int>(rank), &bytes, &unit, static_cast<void*>(&base)),
            "MPI_Win_shared_query");
        bases_[rank] = base;
    }
    mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
}

SharedHome::~SharedHome() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
}

Panels SharedHome::panels(const Layout& layout, int k) const {
    const auto a_owner = static_cast<std::size_t>(layout.a_home(k));
    const auto b_owner = static_cast<std::size_t>(layout.b_home(k));
    return {bases_[a_owner] + layout.a_offset(k), bases_[b_owner] + layout.a_elements() + layout.b_offset(k)};
}

// MPI_Rget of the next step's panels from their owners while this step multiplies; lock_all once.

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

// Shared window: copy the panel that a step needs out of its owner's memory, then multiply.

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

// Shared window: the multiplication reads the owner's memory itself.  No copy, no message, no synchronisation
// of steps.

namespace {

class SharedDirect : public Variant {
  public:
    explicit SharedDirect(Stage& stage) : stage_(stage), home_(stage) {}

    double* a() override { return home_.a(); }
    double* b() override { return home_.b(stage_.layout); }
    void filled() override { home_.sync(); }
    void poison() override {}

    void run(double* c) override {
        const Layout& layout = stage_.layout;
        start_together(stage_);
        for (int step = 0; step < layout.steps(); ++step) {
            const Panels panels = home_.panels(layout, layout.k_of_step(step));
            stage_.multiply.whole(step, panels.a, panels.b, c);
        }
    }

  private:
    Stage& stage_;
    SharedHome home_;
};

}  // namespace

const VariantKind shared_direct{
    "shared_direct",
    "shared window: multiply with the neighbour's panel where it is; no copy, no skew",
    Placement::home,
    false,
    true,
    needs_one_node,
    make<SharedDirect>};

}  // namespace slowpath::cannon
