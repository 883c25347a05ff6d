// SPDX-License-Identifier: Apache-2.0
#include "record/witness.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>

#include <vector>

#include "core/json.hpp"

namespace slowpath {

namespace {

std::int64_t nanoseconds(const timeval& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::int64_t>(time.tv_usec) * 1000;
}

}  // namespace

Witness read_witness() {
    Witness witness;
    rusage usage{};
    witness.valid = getrusage(RUSAGE_SELF, &usage) == 0;
    witness.minor_faults = usage.ru_minflt;
    witness.major_faults = usage.ru_majflt;
    witness.user_time_ns = nanoseconds(usage.ru_utime);
    witness.system_time_ns = nanoseconds(usage.ru_stime);
    witness.voluntary_switches = usage.ru_nvcsw;
    witness.involuntary_switches = usage.ru_nivcsw;
    witness.cpu = sched_getcpu();
    return witness;
}

void store_witness(BlockHeader& header, const Witness& before, const Witness& after) {
    header.cpu_begin = before.cpu;
    header.cpu_end = after.cpu;
    if (before.cpu != after.cpu) header.flags |= block_flag::migrated;
    if (!before.valid || !after.valid) return;
    header.flags |= block_flag::witness;
    header.minor_faults = after.minor_faults - before.minor_faults;
    header.major_faults = after.major_faults - before.major_faults;
    header.user_time_ns = after.user_time_ns - before.user_time_ns;
    header.system_time_ns = after.system_time_ns - before.system_time_ns;
    header.voluntary_switches = after.voluntary_switches - before.voluntary_switches;
    header.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
}

namespace {

std::string counts_json(const std::vector<slowpath_witness_number>& numbers) {
    JsonObject counts;
    for (const slowpath_witness_number& number : numbers) {
        JsonObject one;
        one.unsigned_integer("calls", number.calls);
        if (number.has_bytes != 0)
            one.unsigned_integer("bytes", number.bytes);
        else
            one.null("bytes");
        if (number.waits != 0)
            one.unsigned_integer("time_ns", number.time_ns);
        else
            one.null("time_ns");
        counts.raw(number.name, one.unsigned_integer("failed", number.failed).str());
    }
    return counts.str();
}

}  // namespace

CallLedger::CallLedger()
    : read_(reinterpret_cast<decltype(read_)>(dlsym(RTLD_DEFAULT, "slowpath_witness_read"))) {}

CallLedger::Numbers CallLedger::now() const {
    Numbers numbers(read_(nullptr, 0));
    read_(numbers.data(), numbers.size());
    return numbers;
}

void CallLedger::begin() {
    if (witnessed()) before_ = now();
}

void CallLedger::end(Phase phase, std::int64_t operations) {
    if (!witnessed() || operations == 0) return;
    const Numbers after = now();
    Sum& sum = sums_[static_cast<std::size_t>(phase)];
    sum.operations += operations;
    if (sum.numbers.empty()) {
        sum.numbers = after;
        for (slowpath_witness_number& number : sum.numbers)
            number.calls = number.failed = number.bytes = number.time_ns = 0;
    }
    for (std::size_t i = 0; i < after.size(); ++i) {
        sum.numbers[i].calls += after[i].calls - before_[i].calls;
        sum.numbers[i].failed += after[i].failed - before_[i].failed;
        sum.numbers[i].bytes += after[i].bytes - before_[i].bytes;
        sum.numbers[i].time_ns += after[i].time_ns - before_[i].time_ns;
    }
}

std::string CallLedger::take(std::uint32_t cell, int rank) {
    std::string lines;
    for (std::size_t phase = 0; phase < sums_.size(); ++phase) {
        const Sum& sum = sums_[phase];
        if (sum.operations == 0) continue;
        JsonObject event;
        event.integer("cell", cell).integer("rank", rank).text("phase", phase_names[phase]);
        event.integer("operations", sum.operations).raw("counts", counts_json(sum.numbers));
        lines += "calls " + event.fields() + "\n";
    }
    sums_ = {};
    return lines;
}

}  // namespace slowpath
