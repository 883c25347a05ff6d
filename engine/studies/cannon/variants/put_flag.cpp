// SPDX-License-Identifier: Apache-2.0
// Passive target: MPI_Put, a flush, then a flag in the target's window that the target polls (MPI-5.0
// section 12.7.3). A second flag gives the place free again; both carry the number of the step, which grows
// for ever.
#include <atomic>

#include "cannon/variants/all.hpp"
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {
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

}  // namespace slowpath::cannon
