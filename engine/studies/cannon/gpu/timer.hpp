// SPDX-License-Identifier: Apache-2.0
/// When the device did what, by events, on the same clock as what this rank did.
#pragma once

#include <vector>

#include "cannon/gpu/cuda.hpp"
#include "cannon/timeline.hpp"
#include "core/clock.hpp"

namespace slowpath::cannon::gpu {

class Timer {
  public:
    /// @param capacity Intervals of one repetition at most; their events are made here.
    Timer(const Cuda& cuda, std::size_t capacity);

    /// The origin of this repetition's intervals.  The event is over a few microseconds after the clock is
    /// read, so that intervals seem to lie that much too early; their lengths are the device's own.
    void begin(const Stream& stream);

    /// `what` starts work on the stream; the interval is from its first to its last instant on the device,
    /// without what the stream waited for before.  @return The event of its end.
    template <class What>
    const Event& timed(Part part, int step, const Stream& stream, What&& what) {
        Span& span = spans_.at(used_++);
        span.part = part;
        span.step = step;
        span.begin.record(stream);
        what();
        span.end.record(stream);
        return span.end;
    }

    /// Adds all intervals; everything they measure is over.
    void collect(Timeline& timeline) const;

  private:
    struct Span {
        explicit Span(const Cuda& cuda) : begin(cuda), end(cuda) {}
        Part part = Part::total;
        int step = 0;
        Event begin;
        Event end;
    };
    MonotonicClock clock_{};
    Event origin_;
    std::int64_t origin_ns_ = 0;
    std::vector<Span> spans_;
    std::size_t used_ = 0;
};

}  // namespace slowpath::cannon::gpu
