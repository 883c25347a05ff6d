// SPDX-License-Identifier: Apache-2.0
#include "cannon/recorder.hpp"

#include <cmath>
#include <string>

#include "core/json.hpp"

namespace slowpath::cannon {
namespace {

template <class Values, class Text>
std::string json_list(const Values& values, Text text) {
    std::vector<std::string> words;
    for (const auto& value : values) words.push_back(text(value));
    return json_array(words);
}

std::string seconds_or_null(const std::optional<double>& value) {
    return value ? std::to_string(*value) : "null";
}

/// Whole Hz: a frequency is not known any better.
std::string hertz_or_null(const std::optional<double>& value) {
    return value ? std::to_string(std::llround(*value)) : "null";
}

}  // namespace

void Recorder::add(const Timeline& timeline, std::int64_t involuntary_switches, std::optional<double> other_s,
                   const std::optional<ClockReading>& clock) {
    const bool first = switches_.empty();
    for (const Interval& interval : timeline.intervals()) {
        Series& series = series_[static_cast<std::size_t>(interval.part)];
        series.durations_ns.push_back(interval.end_ns - interval.begin_ns);
        series.begins_ns.push_back(interval.begin_ns);
        if (first) series.steps.push_back(interval.step);
    }
    switches_.push_back(involuntary_switches);
    others_s_.push_back(other_s);
    if (!clock) return;
    clocks_hz_.push_back(clock->hz);
    clock_from_ = clock->from;
}

void Recorder::write(const Context& context, CellRecord& record) const {
    if (switches_.empty()) return;
    for (std::size_t part = 0; part < parts; ++part)
        if (!series_[part].durations_ns.empty()) write_part(context, record, part);
    if (phase_ != Phase::steady) return;
    JsonObject event;
    event.integer("cell", context.cell).integer("rank", context.session.rank());
    event.raw("involuntary_switches",
              json_list(switches_, [](std::int64_t value) { return std::to_string(value); }));
    event.raw("other_cpu_s", json_list(others_s_, seconds_or_null));
    if (!clock_from_.empty())
        event.raw("clock_hz", json_list(clocks_hz_, hertz_or_null)).text("clock_from", clock_from_);
    record.events += "repetitions " + event.fields() + "\n";
}

void Recorder::write_part(const Context& context, CellRecord& record, std::size_t part) const {
    const Series& series = series_[part];
    BlockHeader header;
    header.cell = context.cell;
    header.launch = context.launch;
    header.rank = static_cast<std::uint32_t>(context.session.rank());
    header.phase = phase_;
    header.part = part;
    header.t0_ns = series.begins_ns.front();
    append_block(record.blocks, header, series.durations_ns, series.begins_ns);
    if (phase_ != Phase::steady) return;
    JsonObject event;
    event.integer("cell", context.cell).integer("rank", context.session.rank());
    event.integer("part", static_cast<std::int64_t>(part));
    event.raw("steps", json_list(series.steps, [](std::int32_t step) { return std::to_string(step); }));
    record.events += "intervals " + event.fields() + "\n";
}

}  // namespace slowpath::cannon
