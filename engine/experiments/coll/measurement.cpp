// SPDX-License-Identifier: Apache-2.0
#include "coll/measurement.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "core/batch.hpp"
#include "core/pattern.hpp"
#include "core/work.hpp"
#include "mpi/session.hpp"
#include "mpi/tags.hpp"
#include "mpi/together.hpp"

namespace slowpath::coll {

namespace {

/// More than libraries count before they make what they keep for a communicator (MPICH: 5 calls).
constexpr std::int64_t fewest_warmup = 8;
constexpr std::int64_t most_warmup = 4096;
/// On each communicator of pattern=communicators.
constexpr std::int64_t most_samples_a_communicator = 10;
/// However long they take. Over a network a call may take as long as a cell's limit.
constexpr std::int64_t fewest_steady = 8;
constexpr std::int64_t fewest_counted = 24;  // a path that opens at the ninth call, and as many behind it
constexpr std::int64_t fewest_communicators = 16;
/// Where the fewest samples would take so many limits, these few are taken.
constexpr double most_limits = 10;
constexpr std::int64_t fewest_of_slow_calls = 3;
/// So long before its moment a rank that comes late by intent gives its core away.
constexpr std::int64_t far_ns = 100'000;

/// Contents of a cell's buffers.
enum Number : std::uint64_t { timed = 0, fresh = 1 };

std::vector<int> first_ranks(int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

std::string text_of_error(int code) {
    return mpi::Error("", code, std::source_location::current()).what();
}

}  // namespace

Measurement::Measurement(Context& context, const Config& config, Team& team, Operands& operands,
                         Meeting& meeting)
    : context_(context),
      config_(config),
      team_(team),
      operands_(operands),
      meeting_(meeting),
      ranks_(first_ranks(config.members.value_or(context.session.size()))) {}

std::optional<std::string> Measurement::run() {
    operands_.prepare(timed);
    if (auto failure = make_duplicates()) return failure;
    switch (config_.pattern) {
        case Pattern::calls:
        case Pattern::overlap:
        case Pattern::after_barrier:
        case Pattern::back_to_back:
            return run_calls();
        case Pattern::counted:
            return run_counted();
        case Pattern::communicators:
            return run_communicators();
    }
    return std::nullopt;
}

std::optional<std::string> Measurement::use(bool fresh, std::int64_t number) {
    MPI_Comm made = MPI_COMM_NULL;
    const int code = fresh ? team_.make_fresh(made) : team_.make(made);
    if (highest(code != MPI_SUCCESS ? 1 : 0) != 0)
        return "communicator " + std::to_string(number) + " could not be made: " +
               (code == MPI_SUCCESS ? "another rank has the reason" : text_of_error(code));
    operands_.use(made);
    return std::nullopt;
}

std::optional<std::string> Measurement::make_duplicates() {
    for (std::int64_t number = 0; number < config_.duplicates; ++number) {
        if (auto failure = use(true, number)) return failure;
        Call call(config_, operands_);
        for (std::int64_t i = 0; i < fewest_warmup; ++i) {
            operands_.restore();
            mpi::check(call.run(), "the collective");
        }
    }
    return std::nullopt;
}

std::optional<std::string> Measurement::run_calls() {
    if (auto failure = use(false, config_.duplicates)) return failure;
    Call call(config_, operands_);
    begin_block(1);
    time_all(call, 1);
    end_block(Phase::first);
    check_result("after the first call", call);
    warm_up(call);
    if (config_.pattern == Pattern::overlap)
        time_overlap(call, overlap_steps());
    else
        steady(call);
    check_result("after the last call", call);
    check_fresh_numbers(call);
    return std::nullopt;
}

std::optional<std::string> Measurement::run_counted() {
    if (auto failure = use(true, config_.duplicates)) return failure;
    Call call(config_, operands_);
    begin_block(config_.calls);
    cut_by_time = time(call, config_.calls, fewest_counted, config_.time_limit_s) < config_.calls;
    end_block(Phase::first);
    check_result("after the last call", call);
    check_fresh_numbers(call);
    return std::nullopt;
}

std::optional<std::string> Measurement::run_communicators() {
    const std::int64_t samples = std::min(config_.samples, most_samples_a_communicator);
    const double limit_s = static_cast<double>(config_.calls) * (config_.time_limit_s + config_.warmup_s);
    const std::int64_t end_ns = context_.clock.now_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    for (std::int64_t number = 0; number < config_.calls; ++number) {
        if (auto failure = use(true, config_.duplicates + number)) return failure;
        allocation_ = static_cast<std::uint32_t>(number);
        Call call(config_, operands_);
        sample_ = 0;
        begin_block(fewest_warmup);
        time_all(call, fewest_warmup);
        end_block(Phase::warmup);
        begin_block(samples);
        steady_samples += time(call, samples, std::min(samples, fewest_steady), config_.time_limit_s);
        end_block(Phase::steady);
        if (number == 0) check_result("on the first communicator", call);
        // Now and then, on one clock.
        cut_by_time = (number + 1) % fewest_communicators == 0 && number + 1 < config_.calls &&
                      decide(context_.clock.now_ns() > end_ns ? 1 : 0) != 0;
        if (!cut_by_time && number + 1 < config_.calls) continue;
        check_result("on the last communicator", call);
        check_fresh_numbers(call);
        break;
    }
    return std::nullopt;
}

std::int64_t Measurement::time(Call& call, std::int64_t count, std::int64_t fewest, double limit_s) {
    if (config_.in_loop()) return time_in_loop(call, count, fewest, limit_s);
    const MonotonicClock clock = context_.clock;
    const std::int64_t enough_ns = clock.now_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    for (std::int64_t i = 0; i < count; ++i) {
        operands_.restore();
        const std::int64_t late_by_intent_ns = delay_ns();
        const mpi::Release release = meeting_.release.wait(i >= fewest && clock.now_ns() > enough_ns);
        if (release.enough) {
            was_put_back_ = config_.in_place;
            return i;
        }
        const std::int64_t moment_ns = release.deadline_ns + late_by_intent_ns;
        while (late_by_intent_ns > 0 && clock.now_ns() < moment_ns)
            if (moment_ns - clock.now_ns() > far_ns) sched_yield();
        const std::int64_t begin_ns = clock.now_ns();
        const int code = call.run();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "the collective");
        samples_.add(begin_ns, end_ns);
        late_ns_.push_back(std::max<std::int64_t>(0, begin_ns - moment_ns));
        ++sample_;
    }
    return count;
}

std::int64_t Measurement::delay_ns() const {
    const int rank = team_.rank(), last = team_.size() - 1;
    if (latest_ns_ <= 0 || last == 0) return 0;
    switch (config_.arrival) {
        case Arrival::together:
            return 0;
        case Arrival::one_late:
            return rank == last ? static_cast<std::int64_t>(latest_ns_) : 0;
        case Arrival::linear:
            return static_cast<std::int64_t>(latest_ns_ * rank / last);
        case Arrival::random: {
            const std::uint64_t chance = mix(mix(context_.seed, context_.cell),
                                             (static_cast<std::uint64_t>(sample_) << 20) +
                                                 static_cast<std::uint64_t>(context_.session.rank()));
            return static_cast<std::int64_t>(latest_ns_ * (static_cast<double>(chance >> 11) * 0x1p-53));
        }
    }
    return 0;
}

void Measurement::warm_up(Call& call) {
    const double limit_ns = config_.warmup_s * 1e9;
    begin_block(most_warmup);
    std::int64_t done = 0;
    for (std::int64_t chunk = fewest_warmup; chunk > 0;) {
        time_all(call, chunk);
        done += chunk;
        const auto elapsed_ns = static_cast<double>(context_.clock.now_ns() - block_begin_ns_);
        sample_ns_ = elapsed_ns / static_cast<double>(done);
        const auto fitting =
            static_cast<std::int64_t>(std::clamp((limit_ns - elapsed_ns) / sample_ns_, 0.0, 1e6));
        chunk = decide(std::min({done, fitting, most_warmup - done}));
    }
    // The later half: the first calls are what a warm-up is for.
    if (config_.arrival != Arrival::together) {
        const auto later = samples_.durations_ns().subspan(samples_.size() / 2);
        together_ns = highest(static_cast<std::int64_t>(central_mean_ns(later)));
        latest_ns_ = static_cast<double>(*together_ns) * config_.arrival_ratio;
    }
    end_block(Phase::warmup);
}

void Measurement::steady(Call& call) {
    const SampleBudget budget = sample_budget(sample_ns_ + latest_ns_, config_.time_limit_s, config_.samples);
    const double fewest_ns = static_cast<double>(fewest_steady) * (sample_ns_ + latest_ns_);
    const bool is_slow = fewest_ns > most_limits * 1e9 * config_.time_limit_s;
    const std::int64_t most =
        decide(is_slow ? std::min(budget.samples, fewest_of_slow_calls) : budget.samples);
    begin_block(most);
    // Their number is fitted to the limit by the warm-up, so that only far slower calls run into this.
    steady_samples = time(call, most, std::min(most, fewest_steady), 2 * config_.time_limit_s);
    cut_by_time = budget.cut_by_time || steady_samples < most;
    end_block(Phase::steady);
}

void Measurement::check_result(const char* when, Call& call) {
    if (!config_.validate) return;
    // The ranks had enough after restore(): buffers in place hold what goes in until they call once more.
    if (was_put_back_) mpi::check(call.run(), "the collective");
    was_put_back_ = false;
    operands_.compare(when, judgement);
}

void Measurement::check_fresh_numbers(Call& call) {
    if (!config_.validate) return;
    // New numbers, so that what came earlier can't stand in for them.
    operands_.prepare(fresh);
    mpi::check(call.run(), "the collective");
    operands_.compare("in a call after the timed ones", judgement);
}

void Measurement::begin_block(std::int64_t capacity) {
    samples_.start(static_cast<std::size_t>(capacity));
    late_ns_.clear();
    late_ns_.reserve(static_cast<std::size_t>(capacity));
    context_.calls.begin();
    block_witness_ = read_witness();
    block_begin_ns_ = context_.clock.now_ns();
}

void Measurement::end_block(Phase phase) {
    const Witness after = read_witness();
    const auto count = static_cast<std::int64_t>(samples_.size());
    context_.calls.end(phase, count);
    BlockHeader header = block_header(phase, count);
    store_witness(header, block_witness_, after);
    append_block(context_.record.blocks, header, samples_.durations_ns(), samples_.begins_ns());
    calls += count;
    if (meeting_.release.by_messages() || config_.in_loop()) return;
    header.part = part::late;
    append_block(context_.record.blocks, header, late_ns_);
    late_starts += std::count_if(late_ns_.begin(), late_ns_.end(),
                                 [](std::int64_t late_ns) { return late_ns > late_start_ns; });
}

void Measurement::add_part(Phase phase, std::uint64_t number, const Samples& samples) {
    BlockHeader header = block_header(phase, static_cast<std::int64_t>(samples.size()));
    header.part = number;
    append_block(context_.record.blocks, header, samples.durations_ns(), samples.begins_ns());
}

BlockHeader Measurement::block_header(Phase phase, std::int64_t count) const {
    BlockHeader header;
    header.cell = context_.cell;
    header.launch = context_.launch;
    header.rank = static_cast<std::uint32_t>(context_.session.rank());
    header.phase = phase;
    header.allocation = allocation_;
    header.t0_ns = block_begin_ns_;
    header.seq0 = static_cast<std::uint64_t>(sample_ - count);
    return header;
}

std::int64_t Measurement::decide(std::int64_t mine) const {
    return mpi::decision_of_first(context_.session.control(), ranks_, mine);
}

std::int64_t Measurement::highest(std::int64_t mine) const {
    return mpi::reduce(meeting_.callers, std::array{mine}, MPI_MAX)[0];
}

// A collective as benchmarks time it: calls in a loop, with the library's own MPI_Barrier outside of the
// timed region or with nothing between them.  No rank waits for a deadline.

namespace {

/// Then the ranks agree whether to go on; the call after that is one that all enter together.
constexpr std::int64_t calls_of_a_stretch = 32;

}  // namespace

std::int64_t Measurement::time_in_loop(Call& call, std::int64_t count, std::int64_t fewest, double limit_s) {
    const MonotonicClock clock = context_.clock;
    const MPI_Comm communicator = operands_.arguments().communicator;
    const std::int64_t enough_ns = clock.now_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    for (std::int64_t i = 0; i < count; ++i) {
        const bool agree = i % calls_of_a_stretch == 0;
        if (agree && meeting_.release.wait(i >= fewest && clock.now_ns() > enough_ns).enough) return i;
        operands_.restore();
        if (config_.pattern == Pattern::after_barrier) mpi::check(MPI_Barrier(communicator), "MPI_Barrier");
        const std::int64_t begin_ns = clock.now_ns();
        const int code = call.run();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "the collective");
        samples_.add(begin_ns, end_ns);
        ++sample_;
    }
    return count;
}

// A nonblocking collective, and a computation that takes about as long.  Each sample has three parts, one
// after the other, each begun by all ranks together: the call alone, the computation alone, and the
// computation between starting the call and waiting for it.

namespace {

constexpr std::int64_t fewest_samples = 8;
constexpr double parts_of_a_sample = 4;  // alone, computed, and at worst one after the other

}  // namespace

/// Steps of the computation on this rank, so that it lasts as long as the call on the slowest one: the lower
/// quartile of the warm-up's later half, since another process may have come between.
std::int64_t Measurement::overlap_steps() {
    const auto all = samples_.durations_ns();
    std::vector<std::int64_t> later(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    std::sort(later.begin(), later.end());
    const std::int64_t length_ns = highest(std::max<std::int64_t>(1, later[later.size() / 4]));
    meeting_.release.wait(false);
    return steps_lasting(static_cast<double>(length_ns), context_.clock);
}

void Measurement::time_overlap(Call& call, std::int64_t steps) {
    const MonotonicClock clock = context_.clock;
    const SampleBudget budget =
        sample_budget(parts_of_a_sample * sample_ns_, config_.time_limit_s, config_.samples);
    const std::int64_t most = decide(std::max(std::min(config_.samples, fewest_samples), budget.samples));
    Samples computation, both;
    begin_block(most);
    computation.start(static_cast<std::size_t>(most));
    both.start(static_cast<std::size_t>(most));
    const auto time_part = [&](Samples& samples, auto&& act) {
        meeting_.release.wait(false);
        const std::int64_t begin_ns = clock.now_ns();
        const int code = act();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "the collective");
        samples.add(begin_ns, end_ns);
    };
    for (std::int64_t i = 0; i < most; ++i) {
        time_all(call, 1);
        time_part(computation, [&] {
            compute(steps);
            return MPI_SUCCESS;
        });
        operands_.restore();
        time_part(both, [&] {
            if (const int code = call.begin(); code != MPI_SUCCESS) return code;
            compute(steps);
            return call.finish();
        });
    }
    end_block(Phase::steady);
    add_part(Phase::steady, part::computation, computation);
    add_part(Phase::steady, part::both, both);
    steady_samples = most;
    cut_by_time = budget.cut_by_time;
}

}  // namespace slowpath::coll
