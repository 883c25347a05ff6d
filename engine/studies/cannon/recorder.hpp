// SPDX-License-Identifier: Apache-2.0
/// What a repetition leaves: intervals of its parts, other load, the clock frequency, and their record.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "experiment/context.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::cannon {

// What this rank did when, in one repetition: intervals of parts of steps, taken with two clock readings
// each.

/// Numbers are those of the record (docs/internals/record.md).
enum class Part : std::uint8_t {
    total = 0,  ///< the whole multiplication
    dgemm = 1,
    issue = 2,  ///< starting communication that something else completes: Isend, Put, Rget, Start
    test = 3,
    wait = 4,         ///< blocking until communication is over, blocking calls included
    copy = 5,         ///< loads and stores by this rank, between shared memory and its own
    synchronise = 6,  ///< fences, post/start/complete/wait, barriers, flags
    skew = 7,         ///< the initial alignment, where it is moved and not generated in place
    distribute = 8,   ///< inputs out of rank 0 or a file
    gather = 9,       ///< the product to rank 0 or into a file
    generate = 10,    ///< inputs made in place
};
inline constexpr std::size_t parts = 11;

struct Interval {
    Part part;
    std::int32_t step;
    std::int64_t begin_ns;
    std::int64_t end_ns;
};

class Timeline {
  public:
    /// @param capacity Intervals of one repetition at most; the memory is written here.
    explicit Timeline(std::size_t capacity) : intervals_(capacity) {}

    void clear() noexcept { size_ = 0; }

    /// Runs `what` and keeps when.  No MPI and no allocation in here but `what`'s own.
    template <class What>
    void timed(Part part, int step, What&& what) {
        const std::int64_t begin_ns = clock_.now_ns();
        what();
        const std::int64_t end_ns = clock_.now_ns();
        add({part, step, begin_ns, end_ns});
    }
    /// Keeps an interval that something else measured.
    void add(const Interval& interval) noexcept {
        if (size_ < intervals_.size()) intervals_[size_] = interval;
        ++size_;
    }
    /// True: more intervals came than there was room for, so the repetition can't be used.
    bool overflowed() const noexcept { return size_ > intervals_.size(); }
    std::span<const Interval> intervals() const {
        return {intervals_.data(), size_ < intervals_.size() ? size_ : intervals_.size()};
    }

  private:
    MonotonicClock clock_{};
    std::vector<Interval> intervals_;
    std::size_t size_ = 0;
};

/// What one interval costs here, in ns: two clock readings and keeping them; the median of some batches.
double interval_cost_ns();

// The clock frequency of the processor that this rank runs on, read outside the timed region.

struct ClockReading {
    std::optional<double> hz;
    std::string_view from;  ///< where it is from; without hz, why there is none
};

/// What the kernel says of this processor (cpufreq's scaling_cur_freq), else what a counted loop shows.
ClockReading read_clock();

/// What the kernel says of a processor; nullopt: it does not say.  @param folder /sys/devices/system/cpu.
std::optional<double> cpufreq_hz(const char* folder, int processor);

/// Cycles a second by a chain of dependent additions, one cycle each on every processor whose latencies are
/// known to us (uops.info; Arm's optimisation guides); the fastest of some tries of microseconds, since an
/// interruption only makes a try slower.  nullopt: not a known kind of processor.
std::optional<double> counted_hz();

// Was a repetition disturbed?  What the kernel took from this rank, and what other processes used meanwhile.

/// Readings before and after a repetition; outside the timed region.
struct LoadReading {
    std::int64_t involuntary_switches = 0;  ///< of this process (getrusage)
    double own_s = 0;                       ///< processor time of this process
    std::optional<double> node_s;  ///< processor time of everything on the node (/proc/stat), 10 ms ticks
};

LoadReading read_load();

/// Processor time that others than these ranks used between two readings, in seconds; nullopt: unknown, or
/// the ranks are on several nodes.  Collective.
std::optional<double> other_load_s(MPI_Comm communicator, bool one_node, const LoadReading& before,
                                   const LoadReading& after);

/// A barrier in which those that come early sleep.  Collective.
void wait_asleep(MPI_Comm communicator);

/// Waits up to limit_s until nothing else is runnable on rank 0's node; everybody sleeps meanwhile, since a
/// spinning rank is load itself.  Collective.
void wait_for_quiet(MPI_Comm communicator, double limit_s);

// The repetitions of one variant on this rank, until they go into the record.

class Recorder {
  public:
    explicit Recorder(Phase phase) : phase_(phase) {}

    /// One repetition.  @param other_s Processor time of other processes meanwhile, if known.
    /// @param clock The processor's frequency right after it; nullopt: not read.
    void add(const Timeline& timeline, std::int64_t involuntary_switches, std::optional<double> other_s,
             const std::optional<ClockReading>& clock = std::nullopt);

    /// One block for each part that occurs, one sample for each of its intervals; events `intervals` (the
    /// steps of one repetition's intervals, part by part) and `repetitions` (disturbances).
    /// docs/internals/record.md.
    void write(const Context& context, CellRecord& record) const;

    std::int64_t repetitions() const { return static_cast<std::int64_t>(switches_.size()); }

  private:
    struct Series {
        std::vector<std::int64_t> durations_ns;
        std::vector<std::int64_t> begins_ns;
        std::vector<std::int32_t> steps;  ///< of the first repetition's intervals
    };
    void write_part(const Context& context, CellRecord& record, std::size_t part) const;

    Phase phase_;
    std::array<Series, parts> series_;
    std::vector<std::int64_t> switches_;
    std::vector<std::optional<double>> others_s_;
    std::vector<std::optional<double>> clocks_hz_;
    std::string clock_from_;  ///< empty: no clock was read
};

}  // namespace slowpath::cannon
