// SPDX-License-Identifier: Apache-2.0
#include "put/blocks.hpp"

namespace slowpath::put {

void BlockWriter::begin() {
    context_.calls.begin();
    before_ = read_witness();
    begin_ns_ = context_.clock.now_ns();
}

void BlockWriter::end() {
    after_ = read_witness();
}

void BlockWriter::append(const Samples& samples, Phase phase, Part part, std::uint32_t batch,
                         std::int64_t first_sample) {
    // The synchronisation of a burst lies in the same stretch as its puts.
    if (part != Part::synchronisation)
        context_.calls.end(phase, static_cast<std::int64_t>(samples.size() * batch));
    if (samples.size() == 0) return;
    BlockHeader header;
    header.cell = context_.cell;
    header.launch = context_.launch;
    header.rank = static_cast<std::uint32_t>(context_.session.rank());
    header.phase = phase;
    header.batch = batch;
    header.allocation = static_cast<std::uint32_t>(part);
    header.t0_ns = begin_ns_;
    header.seq0 = static_cast<std::uint64_t>(first_sample);
    store_witness(header, before_, after_);
    append_block(context_.record.blocks, header, samples.durations_ns());
}

}  // namespace slowpath::put
