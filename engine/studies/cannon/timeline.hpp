// SPDX-License-Identifier: Apache-2.0
/// What this rank did when, in one repetition: intervals of parts of steps, taken with two clock readings
/// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"

namespace slowpath::cannon {

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

}  // namespace slowpath::cannon
