// SPDX-License-Identifier: Apache-2.0
#include "nccl/first_use.hpp"

#include "core/batch.hpp"
#include "mpi/agree.hpp"

namespace slowpath::nccl {
namespace {

constexpr std::uint32_t salt_of_first = 1, salt_of_last = 2;

class FirstUse {
  public:
    FirstUse(Context& context, const Config& config, const Call& call, int device, GroupMember& member)
        : context_(context),
          config_(config),
          call_(call),
          one_(call),
          stream_(kept(context, device).stream),
          bench_(context, stream_),
          member_(member),
          contestant_(configure(*member.assignment).library->make(context, stream_)),
          small_(one_of(call), 0, 0, device),
          buffers_(call, config.buffer_bytes, config.overalloc_bytes, device) {
        one_.count = 1;
    }

    void run();

  private:
    static Call one_of(Call call) {
        call.count = 1;
        return call;
    }
    /// What one step does, from the end of the step before to its own.
    void step(Part part, const std::function<void()>& body);
    void make(const Call& call, Buffers& buffers);
    void first();
    void later();

    Context& context_;
    const Config& config_;
    const Call call_;
    Call one_;
    const Stream& stream_;
    Bench bench_;
    GroupMember& member_;
    std::unique_ptr<Contestant> contestant_;
    Buffers small_, buffers_;
    Series first_;
    std::int64_t last_ns_ = 0;
};

void FirstUse::step(Part part, const std::function<void()>& body) {
    body();
    const std::int64_t now_ns = context_.clock.now_ns();
    first_.add(part, last_ns_, now_ns);
    last_ns_ = now_ns;
}

void FirstUse::make(const Call& call, Buffers& buffers) {
    if (call.takes_part()) contestant_->submit(call, buffers.from(), buffers.to());
    stream_.synchronise();
}

void FirstUse::first() {
    step(Part::one_element, [this] { make(one_, small_); });
    const std::int64_t call_ns = last_ns_;
    if (call_.takes_part()) contestant_->submit(call_, buffers_.from(), buffers_.to());
    const std::int64_t submitted_ns = context_.clock.now_ns();
    step(Part::first_call, [this] { stream_.synchronise(); });
    first_.add(Part::submit, call_ns, submitted_ns);
    first_.add(Part::wait, submitted_ns, last_ns_);
}

void FirstUse::later() {
    Series steady;
    bench_.call(*contestant_, call_, buffers_, steady);
    const std::vector<std::int64_t> one = steady.durations_ns(Part::whole);
    const SampleBudget budget =
        sample_budget(static_cast<double>(one.front()), config_.time_limit_s, config_.samples);
    const std::int64_t samples = bench_.decide(budget.samples);
    for (std::int64_t i = 1; i < samples; ++i) bench_.call(*contestant_, call_, buffers_, steady);
    steady.write(context_, {.cell = member_.cell, .phase = Phase::steady}, member_.record);
    member_.outcome.steady_samples = samples;
    member_.outcome.stopped_because = budget.cut_by_time ? "time" : "samples";
}

void FirstUse::run() {
    const MPI_Comm control = context_.session.control();
    if (const auto reason = mpi::first_text(control, contestant_->obstacle(call_)))
        return skip(member_, *reason);
    small_.fill(salt_of_first);
    buffers_.fill(salt_of_first);
    contestant_->prepare(call_);
    stream_.make_current();
    bench_.wait_for_all();
    const std::int64_t begin_ns = last_ns_ = context_.clock.now_ns();
    const auto reason =
        contestant_->open([this](Part part, const std::function<void()>& body) { step(part, body); });
    if (reason) return skip(member_, *reason);
    if (contestant_->has_own_memory())
        step(Part::buffers, [this] { contestant_->take(call_, buffers_.from()); });
    first();
    first_.add(Part::whole, begin_ns, last_ns_);
    for (const auto& [part, seconds] : contestant_->init_parts())
        first_.add(part, begin_ns, begin_ns + static_cast<std::int64_t>(1e9 * seconds));
    first_.write(context_, {.cell = member_.cell, .phase = Phase::first}, member_.record);
    record_library(context_, *contestant_, member_);
    if (config_.validate) {
        contestant_->deliver(one_, small_.to());
        small_.compare(salt_of_first, "after the first call with one element");
        finish(context_, small_, member_);
        contestant_->deliver(call_, buffers_.to());
        buffers_.compare(salt_of_first, "after the first call");
    }
    later();
    if (config_.validate) {
        buffers_.fill(salt_of_last);
        contestant_->take(call_, buffers_.from());
        bench_.call(*contestant_, call_, buffers_);
        contestant_->deliver(call_, buffers_.to());
        buffers_.compare(salt_of_last, "in a call after the timed ones");
    }
    finish(context_, buffers_, member_);
    bench_.wait_for_all();
    contestant_->close();
}

}  // namespace

void measure_first_use(Context& context, const Config& config, const Call& call, int device,
                       std::span<GroupMember> members) {
    for (GroupMember& member : members) FirstUse(context, config, call, device, member).run();
}

}  // namespace slowpath::nccl
