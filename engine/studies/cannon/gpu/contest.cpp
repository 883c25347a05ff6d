// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/contest.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

#include "cannon/gpu/device.hpp"
#include "cannon/gpu/freivalds.hpp"
#include "cannon/gpu/held.hpp"
#include "cannon/gpu/peers.hpp"
#include "cannon/gpu/style.hpp"
#include "cannon/interleave.hpp"
#include "cannon/load.hpp"
#include "cannon/recorder.hpp"
#include "mpi/agree.hpp"
#include "mpi/barrier.hpp"
#include "mpi/check.hpp"
#include "mpi/device_memory.hpp"

namespace slowpath::cannon::gpu {
namespace {

Element element_of(const Config& config) {
    return config.bfloat16 ? Element::bfloat16 : Element::float64;
}

struct Contestant {
    Contestant(const StyleKind& of_kind, GroupMember& of_member, const DeviceStage& stage)
        : kind(of_kind), member(of_member), style(of_kind.make(stage)) {}

    const StyleKind& kind;
    GroupMember& member;
    std::unique_ptr<Style> style;
    Recorder warmup{Phase::warmup};
    Recorder steady{Phase::steady};
};

void skip(GroupMember& member, const std::string& reason) {
    member.outcome.status = Status::skipped;
    member.outcome.reason = reason;
}

std::string_view variant_of(const GroupMember& member) {
    return configure(*member.assignment).variant->name;
}

bool reads_peers(const GroupMember& member) {
    const StyleKind* const kind = find_style(variant_of(member));
    return kind != nullptr && kind->reads_peers;
}

class DeviceContest {
  public:
    DeviceContest(Context& context, const Config& config, const Layout& layout, Held& held,
                  std::span<GroupMember> members);
    ~DeviceContest();
    DeviceContest(const DeviceContest&) = delete;
    DeviceContest& operator=(const DeviceContest&) = delete;

    void run();

  private:
    void admit(GroupMember& member);
    std::optional<std::string> obstacle(const StyleKind& kind) const;
    void repeat(Contestant& contestant, std::int64_t number);
    void timed_part(Contestant& contestant);
    bool checks(const Contestant& contestant, std::int64_t number) const;
    void check(Contestant& contestant);
    void finish(Contestant& contestant);

    Context& context_;
    const Config& config_;
    const Cuda& cuda_;
    Held& held_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    Inputs inputs_;
    Timeline timeline_;
    std::optional<Peers> peers_;
    DeviceStage stage_;
    std::vector<std::unique_ptr<Contestant>> contestants_;
    std::optional<mpi::Barrier> barrier_;
    std::optional<Freivalds> freivalds_;
    bool one_node_ = true;
};

MPI_Comm duplicate_of_world() {
    MPI_Comm communicator = MPI_COMM_NULL;
    mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
    mpi::check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return communicator;
}

/// The rank within its node is its rank: one node.
bool all_on_one_node(const Context& context) {
    const std::array differs{
        static_cast<std::int64_t>(context.session.node_rank() != context.session.rank())};
    return mpi::reduce(context.session.control(), differs, MPI_MAX)[0] == 0;
}

DeviceContest::DeviceContest(Context& context, const Config& config, const Layout& layout, Held& held,
                             std::span<GroupMember> members)
    : context_(context),
      config_(config),
      cuda_(Cuda::loaded()),
      held_(held),
      communicator_(duplicate_of_world()),
      inputs_{static_cast<std::uint32_t>(context.seed), config.numbers},
      timeline_(most_in_all(layout)),
      stage_{cuda_,       layout,       communicator_, element_of(config), timeline_, held.timer,
             held.strips, held.compute, held.copies,   held.blas,          nullptr},
      one_node_(all_on_one_node(context)) {
    if (one_node_ && std::any_of(members.begin(), members.end(), reads_peers)) {
        peers_.emplace(cuda_, layout, stage_.element, communicator_, held.strips);
        stage_.peers = &*peers_;
    }
    for (GroupMember& member : members) admit(member);
    std::vector<int> ranks(static_cast<std::size_t>(context.session.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    barrier_.emplace(communicator_, ranks);
}

DeviceContest::~DeviceContest() {
    // After a failure, work that was started may still read what is closed and freed below.
    held_.compute.settle();
    held_.copies.settle();
    contestants_.clear();
    // Memory that another process has open may not be freed: cuIpcOpenMemHandle in the CUDA driver API.
    if (barrier_) barrier_->wait();
    peers_.reset();
    if (barrier_) barrier_->wait();
    MPI_Comm_free(&communicator_);
}

std::optional<std::string> DeviceContest::obstacle(const StyleKind& kind) const {
    if (kind.by_mpi && context_.session.size() > 1) return mpi::messages_refuse_device();
    if (!kind.reads_peers) return std::nullopt;
    if (!one_node_) return "it reads the memory of other ranks' GPUs, and the ranks are on several nodes";
    return peers_->open_failed();
}

void DeviceContest::admit(GroupMember& member) {
    if (const auto reason = no_such_style(variant_of(member))) return skip(member, *reason);
    const StyleKind* const kind = find_style(variant_of(member));
    if (const auto first = mpi::first_text(context_.session.control(), obstacle(*kind)))
        return skip(member, "variant=" + std::string(variant_of(member)) + ": " + *first);
    contestants_.push_back(std::make_unique<Contestant>(*kind, member, stage_));
}

void DeviceContest::run() {
    if (contestants_.empty()) return;
    upload(cuda_, inputs_, stage_.layout, stage_.element, held_.strips, held_.staging);
    const auto checked = [&](const auto& contestant) { return checks(*contestant, -config_.warmups); };
    if (std::any_of(contestants_.begin(), contestants_.end(), checked))
        freivalds_.emplace(communicator_, stage_.layout, inputs_,
                           static_cast<std::uint32_t>(context_.seed) + 1);
    interleave(contestants_, config_.warmups, config_.repetitions,
               [this](Contestant& contestant, std::int64_t number) { repeat(contestant, number); });
    for (const auto& contestant : contestants_) finish(*contestant);
}

void DeviceContest::repeat(Contestant& contestant, std::int64_t number) {
    timeline_.clear();
    held_.strips.poison(cuda_);
    wait_for_quiet(communicator_, config_.quiet_wait_s);
    const LoadReading before = read_load();
    barrier_->wait();
    timeline_.timed(Part::total, 0, [&] { timed_part(contestant); });
    barrier_->wait();
    const LoadReading after = read_load();
    const std::optional<double> other_s = other_load_s(communicator_, one_node_, before, after);
    held_.timer.collect(timeline_);
    Recorder& recorder = number < 0 ? contestant.warmup : contestant.steady;
    recorder.add(timeline_, after.involuntary_switches - before.involuntary_switches, other_s);
    if (checks(contestant, number)) check(contestant);
    barrier_->wait();
}

void DeviceContest::timed_part(Contestant& contestant) {
    held_.timer.begin(held_.compute);
    contestant.style->run();
    held_.compute.synchronise();
    held_.copies.synchronise();
}

bool DeviceContest::checks(const Contestant& contestant, std::int64_t number) const {
    // On one rank there is no communication, and the product of compute_only is the right one.
    const bool is_product = contestant.kind.checked || context_.session.size() == 1;
    return config_.validate && is_product &&
           (number == -config_.warmups || number == config_.repetitions - 1);
}

void DeviceContest::check(Contestant& contestant) {
    Outcome& outcome = contestant.member.outcome;
    outcome.validated_bytes += stage_.layout.n * stage_.layout.n * output_bytes(stage_.element);
    const auto wrong = freivalds_->wrong(cuda_, stage_.element, held_.strips.c, held_.staging);
    if (!wrong || outcome.status == Status::failed) return;
    outcome.status = Status::failed;
    outcome.reason = *wrong;
    outcome.wrong_bytes = 1;
}

void DeviceContest::finish(Contestant& contestant) {
    GroupMember& member = contestant.member;
    context_.cell = member.cell;
    contestant.warmup.write(context_, member.record);
    contestant.steady.write(context_, member.record);
    member.outcome.steady_samples = contestant.steady.repetitions();
    member.outcome.stopped_because = "samples";
    member.record.events += gpu_note(context_, member.cell);
    if (context_.session.rank() == 0)
        member.record.events += cublas_note(held_.blas.name(), stage_.layout, member.cell);
}

/// What keeps all styles from running with this layout; local.
std::optional<std::string> layout_obstacle(const Layout& layout) {
    const std::int64_t longest =
        std::max({layout.a_elements(), layout.b_elements(), layout.c_rows(), layout.c_columns()});
    if (longest <= INT_MAX) return std::nullopt;
    return "strips of " + std::to_string(longest) +
           " elements are longer than an int counts, in MPI and in cuBLAS; take a smaller n";
}

}  // namespace

void run_on_devices(Context& context, const Config& config, const Layout& layout,
                    std::span<GroupMember> members) {
    std::optional<std::string> reason = layout_obstacle(layout);  // the same on every rank
    if (!reason) reason = take_device(context);
    std::optional<Held> held;
    if (!reason) {
        try {
            held.emplace(Cuda::loaded(), layout, element_of(config));
        } catch (const std::exception& error) {
            reason = error.what();
        }
        reason = mpi::first_text(context.session.control(), reason);
    }
    if (!reason) return DeviceContest(context, config, layout, *held, members).run();
    for (GroupMember& member : members) skip(member, *reason);
}

}  // namespace slowpath::cannon::gpu
