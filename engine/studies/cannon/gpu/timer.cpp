// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/timer.hpp"

namespace slowpath::cannon::gpu {

Timer::Timer(const Cuda& cuda, std::size_t capacity) : origin_(cuda) {
    spans_.reserve(capacity);
    for (std::size_t i = 0; i < capacity; ++i) spans_.emplace_back(cuda);
}

void Timer::begin(const Stream& stream) {
    used_ = 0;
    origin_ns_ = clock_.now_ns();
    origin_.record(stream);
}

void Timer::collect(Timeline& timeline) const {
    for (std::size_t i = 0; i < used_; ++i) {
        const Span& span = spans_[i];
        const std::int64_t begin_ns = origin_ns_ + span.begin.since_ns(origin_);
        timeline.add({span.part, span.step, begin_ns, begin_ns + span.end.since_ns(span.begin)});
    }
}

}  // namespace slowpath::cannon::gpu
