// SPDX-License-Identifier: Apache-2.0
#include "yardstick/fixed_work.hpp"

#include <span>

#include "core/json.hpp"
#include "core/work.hpp"

namespace slowpath::yardstick {
namespace {

std::string list(std::span<const std::int64_t> values, std::int64_t less) {
    std::string text = "[";
    for (const std::int64_t value : values) {
        if (text.size() > 1) text += ',';
        text += std::to_string(value - less);
    }
    return text + "]";
}

}  // namespace

bool samples_fixed_work(int rank, int size) {
    return rank < fixed_work_ranks || rank >= size - fixed_work_ranks;
}

void FixedWork::visit(std::int64_t samples) {
    // Written here, so that no sample pays for a page fault.
    const std::size_t first = begins_ns_.size();
    begins_ns_.resize(first + static_cast<std::size_t>(samples));
    durations_ns_.resize(begins_ns_.size());
    for (std::size_t i = first; i < begins_ns_.size(); ++i) {
        const std::int64_t begin_ns = clock_.now_ns();
        compute(fixed_work_steps);
        durations_ns_[i] = clock_.now_ns() - begin_ns;
        begins_ns_[i] = begin_ns;
    }
    visits_.push_back(samples);
}

std::string FixedWork::line(int rank) const {
    if (begins_ns_.empty()) return "";
    const std::int64_t t0_ns = begins_ns_.front();
    JsonObject event;
    event.integer("rank", rank).integer("steps", fixed_work_steps).integer("t0_ns", t0_ns);
    event.raw("visits", list(visits_, 0)).raw("begins_ns", list(begins_ns_, t0_ns));
    event.raw("durations_ns", list(durations_ns_, 0));
    return "fixed_work " + event.fields() + "\n";
}

}  // namespace slowpath::yardstick
