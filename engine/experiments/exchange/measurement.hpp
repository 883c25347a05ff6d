// SPDX-License-Identifier: Apache-2.0
/// First exchange, warm-up and steady state of a cell, all ranks together.
#pragma once

#include <cstdint>

#include "exchange/halo.hpp"
#include "experiment/context.hpp"
#include "mpi/barrier.hpp"
#include "record/samples.hpp"
#include "record/witness.hpp"

namespace slowpath::exchange {

class Measurement {
  public:
    Measurement(Context& context, const Config& config, Halo& halo);

    /// Collective, each once, in this order.
    void first();
    void rest();

    std::uint32_t batch = 1;
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;

  private:
    /// A barrier before each sample; nothing else than the exchanges is timed.
    void run(std::int64_t samples, std::uint32_t exchanges);
    /// Decides the batch.  @return Of one exchange on this rank, ns.
    double warm_up();
    void begin_block(std::int64_t capacity);
    void end_block(Phase phase, std::uint32_t exchanges);
    std::int64_t decide(std::int64_t mine) const;

    Context& context_;
    const Config& config_;
    Halo& halo_;
    std::vector<int> ranks_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::int64_t done_samples_ = 0;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

}  // namespace slowpath::exchange
