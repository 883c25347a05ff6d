// SPDX-License-Identifier: Apache-2.0
#include "nccl/series.hpp"

namespace slowpath::nccl {

void Series::add(Part part, std::int64_t begin_ns, std::int64_t end_ns) {
    Samples& samples = parts_[part];
    samples.durations_ns.push_back(end_ns - begin_ns);
    samples.begins_ns.push_back(begin_ns);
}

std::int64_t Series::size() const {
    return static_cast<std::int64_t>(durations_ns(Part::whole).size());
}

std::vector<std::int64_t> Series::durations_ns(Part part) const {
    const auto found = parts_.find(part);
    return found == parts_.end() ? std::vector<std::int64_t>{} : found->second.durations_ns;
}

void Series::write(const Context& context, const At& at, CellRecord& record) const {
    for (const auto& [part, samples] : parts_) {
        BlockHeader header;
        header.cell = at.cell;
        header.launch = context.launch;
        header.rank = static_cast<std::uint32_t>(context.session.rank());
        header.phase = at.phase;
        header.allocation = at.allocation;
        header.part = static_cast<std::uint64_t>(part);
        header.t0_ns = samples.begins_ns.front();
        if (at.reused_address) header.flags = block_flag::reused_address;
        append_block(record.blocks, header, samples.durations_ns, samples.begins_ns);
    }
}

}  // namespace slowpath::nccl
