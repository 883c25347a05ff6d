// SPDX-License-Identifier: Apache-2.0
#include "exchange/measurement.hpp"

#include <algorithm>
#include <numeric>

#include "core/batch.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::exchange {
namespace {

constexpr std::int64_t fewest_warmup = 4;
constexpr std::int64_t most_warmup = 4096;

std::vector<int> all_ranks(int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

}  // namespace

Measurement::Measurement(Context& context, const Config& config, Halo& halo)
    : context_(context),
      config_(config),
      halo_(halo),
      ranks_(all_ranks(context.session.size())),
      barrier_(context.session.control(), ranks_) {}

void Measurement::run(std::int64_t samples, std::uint32_t exchanges) {
    const MonotonicClock clock = context_.clock;
    for (std::int64_t i = 0; i < samples; ++i) {
        int code = MPI_SUCCESS;
        barrier_.wait();
        const std::int64_t begin_ns = clock.now_ns();
        for (std::uint32_t one = 0; one < exchanges && code == MPI_SUCCESS; ++one) code = halo_.exchange();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Irecv, MPI_Isend or MPI_Waitall");
        samples_.add(begin_ns, end_ns);
    }
}

void Measurement::first() {
    begin_block(1);
    run(1, 1);
    end_block(Phase::first, 1);
}

double Measurement::warm_up() {
    const double limit_ns = config_.warmup_s * 1e9;
    begin_block(most_warmup);
    std::int64_t done = 0;
    for (std::int64_t chunk = fewest_warmup; chunk > 0;) {
        run(chunk, 1);
        done += chunk;
        const auto elapsed_ns = static_cast<double>(context_.clock.now_ns() - block_begin_ns_);
        const double each_ns = elapsed_ns / static_cast<double>(done);
        const auto fitting =
            static_cast<std::int64_t>(std::clamp((limit_ns - elapsed_ns) / each_ns, 0.0, 1e6));
        chunk = decide(std::min({done, fitting, most_warmup - done}));
    }
    // The later half: the first exchanges are what a warm-up is for.
    const auto later = samples_.durations_ns().subspan(samples_.size() / 2);
    const double exchange_ns = central_mean_ns(later);
    batch = static_cast<std::uint32_t>(decide(batch_size(fastest_quarter_ns(later), context_.calibration)));
    end_block(Phase::warmup, 1);
    return exchange_ns;
}

void Measurement::rest() {
    const double exchange_ns = warm_up();
    const SampleBudget budget = sample_budget(batch * exchange_ns, config_.time_limit_s, config_.samples);
    steady_samples = decide(budget.samples);
    cut_by_time = budget.cut_by_time;
    begin_block(steady_samples);
    run(steady_samples, batch);
    end_block(Phase::steady, batch);
}

void Measurement::begin_block(std::int64_t capacity) {
    samples_.start(static_cast<std::size_t>(capacity));
    context_.calls.begin();
    block_witness_ = read_witness();
    block_begin_ns_ = context_.clock.now_ns();
}

void Measurement::end_block(Phase phase, std::uint32_t exchanges) {
    const Witness after = read_witness();
    context_.calls.end(phase, static_cast<std::int64_t>(samples_.size() * exchanges));
    BlockHeader header;
    header.cell = context_.cell;
    header.launch = context_.launch;
    header.rank = static_cast<std::uint32_t>(context_.session.rank());
    header.phase = phase;
    header.batch = exchanges;
    header.t0_ns = block_begin_ns_;
    header.seq0 = static_cast<std::uint64_t>(done_samples_);
    store_witness(header, block_witness_, after);
    append_block(context_.record.blocks, header, samples_.durations_ns());
    done_samples_ += static_cast<std::int64_t>(samples_.size());
}

std::int64_t Measurement::decide(std::int64_t mine) const {
    return mpi::decision_of_first(context_.session.control(), ranks_, mine);
}

}  // namespace slowpath::exchange
