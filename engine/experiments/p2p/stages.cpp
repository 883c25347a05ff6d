// SPDX-License-Identifier: Apache-2.0
#include "p2p/stages.hpp"

#include <algorithm>
#include <cstdint>

namespace slowpath::p2p {
namespace {

constexpr std::int64_t fewest_warmup = 4;
constexpr std::int64_t most_warmup = 4096;           // operations kept one by one
constexpr std::int64_t most_warmup_batches = 65536;  // so that a long warm-up needs little memory

/// Operations one by one, in chunks that double, until the time is up or enough were kept.
WarmUp warm_up_singly(Endpoint& endpoint, bool stores, const RunSamples& run) {
    const double limit_ns = endpoint.config().warmup_s * 1e9;
    const std::int64_t begin_ns = endpoint.context().clock.now_ns();
    WarmUp warmup;
    endpoint.begin_block(most_warmup);
    std::int64_t chunk = fewest_warmup;
    double elapsed_ns = 0;
    while (chunk > 0) {
        run(chunk, 1);
        warmup.operations += chunk;
        elapsed_ns = static_cast<double>(endpoint.context().clock.now_ns() - begin_ns);
        const double each_ns = elapsed_ns / static_cast<double>(warmup.operations);
        const auto fitting =
            static_cast<std::int64_t>(std::clamp((limit_ns - elapsed_ns) / each_ns, 0.0, 1e6));
        chunk = endpoint.decide(std::min({warmup.operations, fitting, most_warmup - warmup.operations}));
    }
    warmup.left_ns = std::max(0.0, limit_ns - elapsed_ns);
    // The later half: the first operations are what a warm-up is for.
    const auto samples = endpoint.samples().durations_ns();
    if (!samples.empty()) {
        const auto later = samples.subspan(samples.size() / 2);
        warmup.operation_ns = central_mean_ns(later);
        warmup.undisturbed_ns = fastest_quarter_ns(later);
    }
    if (stores)
        endpoint.end_block(Phase::warmup, 1, 1, false);
    else
        endpoint.end_calls(Phase::warmup, warmup.operations);
    return warmup;
}

/// What the time asked for leaves after most_warmup single operations.
std::int64_t warm_up_in_batches(Endpoint& endpoint, bool stores, const RunSamples& run,
                                const WarmUp& warmup) {
    const double sample_ns = std::max(1.0, endpoint.batch * warmup.operation_ns);
    const auto fitting = static_cast<std::int64_t>(
        std::min(warmup.left_ns / sample_ns, static_cast<double>(most_warmup_batches)));
    const std::int64_t samples = endpoint.decide(warmup.operations < most_warmup ? 0 : fitting);
    if (samples == 0) return 0;
    endpoint.begin_block(samples);
    run(samples, endpoint.batch);
    if (stores)
        endpoint.end_block(Phase::warmup, endpoint.batch, 1 + warmup.operations, false);
    else
        endpoint.end_calls(Phase::warmup, samples * endpoint.batch);
    return samples;
}

}  // namespace

void run_first(Endpoint& endpoint, bool stores, const RunSamples& run) {
    endpoint.barrier().wait();
    endpoint.begin_block(1);
    run(1, 1);
    if (stores)
        endpoint.end_block(Phase::first, 1, 0, false);
    else
        endpoint.end_calls(Phase::first, 1);
}

WarmUp run_warm_up(Endpoint& endpoint, bool stores, const RunSamples& run) {
    WarmUp warmup = warm_up_singly(endpoint, stores, run);
    if (endpoint.batch == 0) {
        const std::uint32_t batch = batch_size(warmup.undisturbed_ns, endpoint.context().calibration);
        endpoint.batch = static_cast<std::uint32_t>(endpoint.decide(batch));
    }
    warmup.operations += warm_up_in_batches(endpoint, stores, run, warmup);
    return warmup;
}

void run_rest(Endpoint& endpoint, bool stores, const RunSamples& run) {
    const WarmUp warmup = run_warm_up(endpoint, stores, run);
    const SampleBudget budget = sample_budget(endpoint.batch * warmup.operation_ns,
                                              endpoint.config().time_limit_s, endpoint.config().samples);
    const std::int64_t samples = endpoint.decide(budget.samples);
    endpoint.cut_by_time = endpoint.cut_by_time || budget.cut_by_time;
    endpoint.barrier().wait();
    endpoint.begin_block(samples);
    run(samples, endpoint.batch);
    if (stores)
        endpoint.end_block(Phase::steady, endpoint.batch, 1 + warmup.operations, false);
    else
        endpoint.end_calls(Phase::steady, samples * endpoint.batch);
    endpoint.steady_samples += samples;
}

}  // namespace slowpath::p2p
