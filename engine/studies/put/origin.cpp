// SPDX-License-Identifier: Apache-2.0
#include "put/origin.hpp"

#include <algorithm>
#include <cmath>

#include "core/batch.hpp"
#include "core/error.hpp"
#include "put/quantile.hpp"

namespace slowpath::put {
namespace {

constexpr std::int64_t fewest_warmup = 4;
constexpr std::int64_t most_warmup = 4096;

/// Least number of bursts that last 10 us together: a sample is short, so that most samples are not
/// interrupted, and long against the clock.
std::uint32_t bursts_in_sample(double burst_ns, const Calibration& calibration) {
    constexpr double shortest_ns = 10'000;
    const double wanted_ns = std::max({shortest_ns, 100.0 * static_cast<double>(calibration.quantum_ns),
                                       50.0 * static_cast<double>(calibration.overhead_ns)});
    return static_cast<std::uint32_t>(
        std::clamp(std::ceil(wanted_ns / burst_ns), 1.0, static_cast<double>(largest_batch)));
}

/// Arithmetic without a call of MPI, as a program's own work between two calls.
void compute(const MonotonicClock& clock, double busy_s) {
    const std::int64_t end_ns = clock.now_ns() + static_cast<std::int64_t>(busy_s * 1e9);
    volatile double value = 1.0;
    while (clock.now_ns() < end_ns)
        for (int i = 0; i < 64; ++i) value = value * 1.000000001;
}

}  // namespace

Origin::Origin(Context& context, const Config& config, const Pair& pair, Runner& runner)
    : context_(context), config_(config), pair_(pair), runner_(runner), blocks_(context) {}

void Origin::require(int code) const {
    if (code != 0) throw EnvironmentFailure(runner_.error_text(code));
}

double Origin::lower_quartile_ns(std::size_t skipped) const {
    const auto samples = whole_.durations_ns();
    return std::max(1.0, quantile_of(samples.subspan(std::min(skipped, samples.size() - 1)), lower_quartile));
}

std::optional<std::string> Origin::first() {
    const MonotonicClock clock = context_.clock;
    pair_.of_origin(1);
    whole_.start(1);
    blocks_.begin();
    const std::int64_t begin_ns = clock.now_ns();
    const int code = runner_.run(1);
    const std::int64_t end_ns = clock.now_ns();
    whole_.add(begin_ns, end_ns);
    blocks_.end();
    if (code != 0) return runner_.error_text(code);
    blocks_.append(whole_, Phase::first, Part::whole, 1, 0);
    whole_bursts_seen_ = 1;
    return std::nullopt;
}

void Origin::time_whole(std::int64_t samples, std::uint32_t bursts) {
    const MonotonicClock clock = context_.clock;
    pair_.of_origin(samples * bursts);
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        const int code = runner_.run(bursts);
        const std::int64_t end_ns = clock.now_ns();
        require(code);
        whole_.add(begin_ns, end_ns);
    }
}

void Origin::time_split(std::int64_t samples) {
    const MonotonicClock clock = context_.clock;
    const bool opens = runner_.opens();
    pair_.of_origin(samples);
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t open_ns = opens ? clock.now_ns() : 0;
        const int opened = opens ? runner_.open() : 0;
        const std::int64_t begin_ns = clock.now_ns();
        const int put = runner_.puts();
        const std::int64_t middle_ns = clock.now_ns();
        const int closed = runner_.close();
        const std::int64_t end_ns = clock.now_ns();
        require(opened != 0 ? opened : put != 0 ? put : closed);
        puts_.add(begin_ns, middle_ns);
        // What opened the burst belongs to its synchronisation.
        synchronisation_.add(middle_ns - (opens ? begin_ns - open_ns : 0), end_ns);
    }
}

void Origin::warm_up() {
    const double limit_ns = config_.warmup_s * 1e9;
    const std::int64_t begin_ns = context_.clock.now_ns();
    whole_.start(most_warmup);
    blocks_.begin();
    std::int64_t done = 0, chunk = fewest_warmup;
    double left_ns = limit_ns;
    while (chunk > 0) {
        time_whole(chunk, 1);
        done += chunk;
        left_ns = limit_ns - static_cast<double>(context_.clock.now_ns() - begin_ns);
        const double fitting = std::clamp(left_ns / lower_quartile_ns(0), 0.0, 1e6);
        chunk = std::min({done, static_cast<std::int64_t>(fitting), most_warmup - done});
    }
    blocks_.end();
    blocks_.append(whole_, Phase::warmup, Part::whole, 1, whole_bursts_seen_);
    whole_bursts_seen_ += done;
    // The later half: the first bursts are what a warm-up is for.
    burst_ns_ = lower_quartile_ns(static_cast<std::size_t>(done / 2));
    batch = bursts_in_sample(burst_ns_, context_.calibration);
    const double sample_ns = batch * burst_ns_;
    const auto batches = static_cast<std::int64_t>(std::clamp(left_ns / sample_ns, 0.0, 65536.0));
    if (done < most_warmup || batches == 0) return;
    // A long warm-up goes on in batches, so that it needs little memory.
    whole_.start(static_cast<std::size_t>(batches));
    blocks_.begin();
    time_whole(batches, batch);
    blocks_.end();
    blocks_.append(whole_, Phase::warmup, Part::whole, batch, whole_bursts_seen_);
    whole_bursts_seen_ += batches;
}

void Origin::rest() {
    warm_up();
    const SampleBudget whole = sample_budget(batch * burst_ns_, config_.time_limit_s, config_.samples);
    whole_.start(static_cast<std::size_t>(whole.samples));
    blocks_.begin();
    time_whole(whole.samples, batch);
    blocks_.end();
    blocks_.append(whole_, Phase::steady, Part::whole, batch, whole_bursts_seen_);

    const SampleBudget split = sample_budget(burst_ns_, config_.time_limit_s, config_.samples);
    puts_.start(static_cast<std::size_t>(split.samples));
    synchronisation_.start(static_cast<std::size_t>(split.samples));
    blocks_.begin();
    time_split(split.samples);
    blocks_.end();
    blocks_.append(puts_, Phase::steady, Part::puts, 1, 0);
    blocks_.append(synchronisation_, Phase::steady, Part::synchronisation, 1, 0);
    steady_samples = whole.samples;
    cut_by_time = whole.cut_by_time;
}

void serve_target(const Pair& pair, Runner& runner, const MonotonicClock& clock, double busy_s) {
    const auto next = [&] {
        return busy_s > 0 ? pair.of_origin_between([&] { compute(clock, busy_s); }) : pair.of_origin(0);
    };
    while (const std::int64_t bursts = next())
        if (const int code = runner.serve(bursts); code != 0)
            throw EnvironmentFailure(runner.error_text(code));
}

}  // namespace slowpath::put
