// SPDX-License-Identifier: Apache-2.0
#include "first_use/recorded.hpp"

namespace slowpath::first_use {

void record_spans(Context& context, Phase phase, std::uint64_t part, std::int64_t seq0,
                  const std::vector<Span>& spans, const Witness& kernel) {
    if (spans.empty()) return;
    BlockHeader header;
    header.cell = context.cell;
    header.launch = context.launch;
    header.rank = static_cast<std::uint32_t>(context.session.rank());
    header.phase = phase;
    header.batch = 1;
    header.part = part;
    header.t0_ns = spans.front().begin_ns;
    header.seq0 = static_cast<std::uint64_t>(seq0);
    if (kernel.valid) {
        Witness nothing;
        nothing.valid = true;
        nothing.cpu = kernel.cpu;
        store_witness(header, nothing, kernel);
    }
    std::vector<std::int64_t> durations_ns, begins_ns;
    for (const Span& span : spans) {
        durations_ns.push_back(span.end_ns - span.begin_ns);
        begins_ns.push_back(span.begin_ns);
    }
    append_block(context.record.blocks, header, durations_ns, begins_ns);
}

void KernelTotal::add(const Witness& before, const Witness& after) {
    if (!before.valid || !after.valid) return;
    total_.valid = true;
    total_.minor_faults += after.minor_faults - before.minor_faults;
    total_.major_faults += after.major_faults - before.major_faults;
    total_.user_time_ns += after.user_time_ns - before.user_time_ns;
    total_.system_time_ns += after.system_time_ns - before.system_time_ns;
    total_.voluntary_switches += after.voluntary_switches - before.voluntary_switches;
    total_.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    total_.cpu = after.cpu;
}

}  // namespace slowpath::first_use
