// SPDX-License-Identifier: Apache-2.0
#include "nccl/calls.hpp"

#include <algorithm>

#include "core/batch.hpp"
#include "mpi/agree.hpp"

namespace slowpath::nccl {
namespace {

constexpr std::int64_t fewest_warmup = 4;
constexpr std::int64_t most_warmup = 1024;

struct Runner {
    GroupMember* member;
    Contestant* contestant;
    Series warmup{}, steady{};
};

class Calls {
  public:
    Calls(Context& context, const Config& config, const Call& call, int device)
        : context_(context),
          config_(config),
          call_(call),
          device_(device),
          kept_(kept(context, device)),
          bench_(context, kept_.stream) {}

    void admit(GroupMember& member);
    void run();

  private:
    Buffers fresh() const { return {call_, config_.buffer_bytes, config_.overalloc_bytes, device_}; }
    /// Another library first each time.
    template <class Body>
    void in_turns(std::int64_t number, const Body& body);
    void first_calls(std::uint32_t allocation, Buffers& buffers);
    void later_calls(Buffers& buffers);
    /// A call whose result is compared.  @param to nullptr: not stored.
    void checked(Runner& runner, Buffers& buffers, const char* when, Series* to);

    Context& context_;
    const Config& config_;
    const Call& call_;
    int device_;
    Kept& kept_;
    Bench bench_;
    std::vector<Runner> runners_;
    std::uint32_t salt_ = 0;
};

void Calls::admit(GroupMember& member) {
    const ContestantKind& kind = *configure(*member.assignment).library;
    const auto made = kind.make(context_, kept_.stream);
    if (const auto reason = mpi::first_text(context_.session.control(), made->obstacle(call_)))
        return skip(member, *reason);
    Contestant* const contestant = kept_.opened(context_, kind);
    if (contestant == nullptr) return skip(member, kept_.why_not(kind.name).value_or("not opened"));
    contestant->prepare(call_);
    record_library(context_, *contestant, member);
    runners_.push_back({.member = &member, .contestant = contestant});
}

template <class Body>
void Calls::in_turns(std::int64_t number, const Body& body) {
    const auto count = static_cast<std::int64_t>(runners_.size());
    for (std::int64_t i = 0; i < count; ++i) body(runners_[static_cast<std::size_t>((i + number) % count)]);
}

void Calls::checked(Runner& runner, Buffers& buffers, const char* when, Series* to) {
    if (config_.validate) buffers.fill(++salt_);
    runner.contestant->take(call_, buffers.from());
    Series unused;
    bench_.call(*runner.contestant, call_, buffers, to == nullptr ? unused : *to);
    if (!config_.validate) return;
    runner.contestant->deliver(call_, buffers.to());
    buffers.compare(salt_, when);
    finish(context_, buffers, *runner.member);
    buffers.compared_bytes = buffers.wrong_bytes = 0;
    buffers.first_wrong.reset();
}

void Calls::first_calls(std::uint32_t allocation, Buffers& buffers) {
    bool reused = false;
    for (const memory::Buffer* const buffer : {&buffers.given(), &buffers.got()})
        reused |= context_.addresses.note(reinterpret_cast<std::uintptr_t>(buffer->base()), buffer->bytes());
    in_turns(allocation, [&](Runner& runner) {
        Series first;
        checked(runner, buffers, "after the first call", &first);
        first.write(context_,
                    {.cell = runner.member->cell,
                     .phase = Phase::first,
                     .allocation = allocation,
                     .reused_address = reused},
                    runner.member->record);
    });
}

void Calls::later_calls(Buffers& buffers) {
    std::int64_t done = 0;
    for (std::int64_t chunk = fewest_warmup; chunk > 0;) {
        const std::int64_t begin_ns = context_.clock.now_ns();
        for (std::int64_t i = 0; i < chunk; ++i)
            in_turns(i,
                     [&](Runner& runner) { bench_.call(*runner.contestant, call_, buffers, runner.warmup); });
        done += chunk;
        const double round_s = 1e-9 * static_cast<double>(context_.clock.now_ns() - begin_ns) /
                               static_cast<double>(chunk * static_cast<std::int64_t>(runners_.size()));
        const double left = config_.warmup_s / round_s - static_cast<double>(done);
        chunk = bench_.decide(static_cast<std::int64_t>(
            std::clamp(left, 0.0, static_cast<double>(std::min(done, most_warmup - done)))));
    }
    // All get as many: that of the slowest would else be the one that stops early.
    double slowest_ns = 1;
    for (const Runner& runner : runners_) {
        const std::vector<std::int64_t> all = runner.warmup.durations_ns(Part::whole);
        slowest_ns = std::max(slowest_ns, central_mean_ns(std::span(all).subspan(all.size() / 2)));
    }
    const SampleBudget budget = sample_budget(slowest_ns, config_.time_limit_s, config_.samples);
    const std::int64_t samples = bench_.decide(budget.samples);
    for (std::int64_t i = 0; i < samples; ++i) {
        context_.alive(runners_.front().member->cell, false);
        in_turns(i, [&](Runner& runner) { bench_.call(*runner.contestant, call_, buffers, runner.steady); });
    }
    const auto last = static_cast<std::uint32_t>(config_.allocations - 1);
    for (Runner& runner : runners_) {
        GroupMember& member = *runner.member;
        runner.warmup.write(context_, {member.cell, Phase::warmup, last}, member.record);
        runner.steady.write(context_, {member.cell, Phase::steady, last}, member.record);
        member.outcome.steady_samples = samples;
        member.outcome.stopped_because = budget.cut_by_time ? "time" : "samples";
        if (config_.validate) checked(runner, buffers, "in a call after the timed ones", nullptr);
    }
}

void Calls::run() {
    if (runners_.empty()) return;
    {
        // The communicator and this call are in use before a first call with a fresh buffer is timed.
        Buffers used(call_, 0, 0, device_);
        used.fill(0);
        for (Runner& runner : runners_) {
            runner.contestant->take(call_, used.from());
            bench_.call(*runner.contestant, call_, used);
        }
    }
    for (std::int64_t allocation = 0; allocation < config_.allocations; ++allocation) {
        Buffers buffers = fresh();
        buffers.fill(0);
        first_calls(static_cast<std::uint32_t>(allocation), buffers);
        if (allocation == config_.allocations - 1) later_calls(buffers);
        bench_.wait_for_all();  // no rank frees memory that another still reads
    }
}

}  // namespace

void measure_calls(Context& context, const Config& config, const Call& call, int device,
                   std::span<GroupMember> members) {
    Calls calls(context, config, call, device);
    for (GroupMember& member : members) calls.admit(member);
    calls.run();
}

}  // namespace slowpath::nccl
