// SPDX-License-Identifier: Apache-2.0
#include "cannon/contest.hpp"

#include <algorithm>
#include <numeric>

#include "cannon/blas.hpp"
#include "cannon/interleave.hpp"
#include "core/json.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon {
namespace {

MPI_Comm duplicate_of_world() {
    MPI_Comm communicator = MPI_COMM_NULL;
    mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
    mpi::check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return communicator;
}

bool all_on_one_node(MPI_Comm communicator) {
    MPI_Comm node = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
               "MPI_Comm_split_type");
    int here = 0, all = 0;
    mpi::check(MPI_Comm_size(node, &here), "MPI_Comm_size");
    mpi::check(MPI_Comm_size(communicator, &all), "MPI_Comm_size");
    mpi::check(MPI_Comm_free(&node), "MPI_Comm_free");
    return here == all;
}

std::vector<int> all_ranks(int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

/// They multiply blocks that do not belong together, so that there is no product to check.
bool has_no_product(const VariantKind& kind) {
    return kind.name == "compute_only" || kind.name == "dgemm_alone";
}

}  // namespace

std::size_t most_intervals(const Layout& layout, std::int64_t piece) {
    constexpr std::size_t others_of_a_step = 12;  // parts of a step that are not dgemm or test
    const auto pieces =
        static_cast<std::size_t>(layout.panel() / columns_of_piece(layout.panel(), piece) + 1);
    return static_cast<std::size_t>(layout.steps()) * (others_of_a_step + 2 * pieces) + others_of_a_step;
}

Contest::Contest(Context& context, const Config& config, const Layout& layout, std::span<GroupMember> members)
    : context_(context),
      config_(config),
      communicator_(duplicate_of_world()),
      layout_(layout),
      inputs_{static_cast<std::uint32_t>(context.seed), config.numbers},
      timeline_(most_intervals(layout, config.piece)),
      multiply_(layout, config.kernel->loop == nullptr ? &Blas::loaded() : nullptr, config.kernel->loop,
                timeline_, config.piece),
      own_(layout),
      stage_{
          layout, communicator_, multiply_, timeline_, own_, config.window, all_on_one_node(communicator_)},
      c_(layout.c_elements()),
      barrier_(communicator_, all_ranks(context.session.size())),
      distribution_(make_distribution(config.source, stage_, inputs_, config.folder)) {
    for (GroupMember& member : members) admit(member, *configure(*member.assignment).variant);
}

Contest::~Contest() {
    contestants_.clear();
    distribution_.reset();
    MPI_Comm_free(&communicator_);
}

void Contest::admit(GroupMember& member, const VariantKind& kind) {
    if (const auto reason = mpi::first_text(context_.session.control(), kind.obstacle(stage_))) {
        member.outcome.status = Status::skipped;
        member.outcome.reason = "variant=" + std::string(kind.name) + ": " + *reason;
        return;
    }
    contestants_.push_back(std::make_unique<Contestant>(kind, member, stage_));
}

void Contest::run() {
    interleave(contestants_, config_.warmups, config_.repetitions,
               [this](Contestant& contestant, std::int64_t number) { repeat(contestant, number); });
    for (const auto& contestant : contestants_) finish(*contestant);
}

void Contest::repeat(Contestant& contestant, std::int64_t number) {
    const bool checked = validates(contestant, number);
    context_.alive(contestant.member.cell, number == -config_.warmups);
    timeline_.clear();
    if (!distribution_->timed()) {
        const Placement placement = config_.move_skew ? Placement::home : contestant.kind.placement;
        distribution_->bring(placement, contestant.variant->a(), contestant.variant->b());
        contestant.variant->filled();
    }
    contestant.variant->poison();
    std::fill_n(c_.data(), c_.elements(), 0.0);
    const std::uint64_t inputs_before =
        checked && contestant.kind.reads_inputs_only ? inputs_of(contestant) : 0;
    wait_for_quiet(communicator_, config_.quiet_wait_s);
    const LoadReading before = read_load();
    barrier_.wait();
    timeline_.timed(Part::total, 0, [&] { timed_part(contestant); });
    contestant.variant->settle();
    barrier_.wait();
    const LoadReading after = read_load();
    const ClockReading clock = read_clock();
    const std::optional<double> other_s = other_load_s(communicator_, stage_.one_node, before, after);
    Recorder& recorder = number < 0 ? contestant.warmup : contestant.steady;
    std::optional<std::string> overflow;
    if (timeline_.overflowed()) overflow = "more intervals than there was room for, in one repetition";
    if (const auto first = mpi::first_text(communicator_, overflow)) fail(contestant, *first);
    recorder.add(timeline_, after.involuntary_switches - before.involuntary_switches, other_s, clock);
    if (checked) check(contestant, number, inputs_before);
    barrier_.wait();
}

void Contest::timed_part(Contestant& contestant) {
    if (distribution_->timed()) {
        distribution_->bring(contestant.kind.placement, contestant.variant->a(), contestant.variant->b());
        contestant.variant->filled();
    }
    if (config_.move_skew && contestant.kind.placement == Placement::skewed) move_skew(contestant);
    contestant.variant->run(c_.data());
    distribution_->take(c_.data());
}

/// Blocking, as in the textbook: row i of A left by i, column j of B up by j.
void Contest::move_skew(Contestant& contestant) {
    timeline_.timed(Part::skew, 0, [&] {
        const StripType a_type(layout_.a_elements()), b_type(layout_.b_elements());
        const int row = layout_.row, column = layout_.column;
        if (layout_.a_moves() && row % layout_.columns != 0)
            mpi::check(MPI_Sendrecv_replace(contestant.variant->a(), 1, a_type.get(),
                                            layout_.rank_at(row, column - row), tag_a,
                                            layout_.rank_at(row, column + row), tag_a, communicator_,
                                            MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
        if (layout_.b_moves() && column % layout_.rows != 0)
            mpi::check(MPI_Sendrecv_replace(contestant.variant->b(), 1, b_type.get(),
                                            layout_.rank_at(row - column, column), tag_b,
                                            layout_.rank_at(row + column, column), tag_b, communicator_,
                                            MPI_STATUS_IGNORE),
                       "MPI_Sendrecv_replace");
        contestant.variant->filled();
    });
}

bool Contest::validates(const Contestant& contestant, std::int64_t number) const {
    if (!config_.validate || has_no_product(contestant.kind)) return false;
    return number == -config_.warmups || number == config_.repetitions - 1;
}

std::uint64_t Contest::inputs_of(Contestant& contestant) const {
    const auto a = static_cast<std::size_t>(layout_.a_elements()),
               b = static_cast<std::size_t>(layout_.b_elements());
    return checksum({contestant.variant->a(), a}) ^ (checksum({contestant.variant->b(), b}) << 1);
}

void Contest::check(Contestant& contestant, std::int64_t number, std::uint64_t inputs_before) {
    const auto seed = static_cast<std::uint32_t>(context_.seed + static_cast<std::uint64_t>(number + 1000));
    const Verdict verdict = verify(communicator_, layout_, inputs_, seed, c_.data());
    contestant.member.outcome.validated_bytes +=
        layout_.n * layout_.n * static_cast<std::int64_t>(sizeof(double));
    if (verdict.wrong) fail(contestant, *verdict.wrong);
    std::optional<std::string> changed;
    if (contestant.kind.reads_inputs_only && inputs_of(contestant) != inputs_before &&
        config_.source == Source::in_place)
        changed = "the inputs of rank " + std::to_string(context_.session.rank()) + " were changed";
    if (const auto first = mpi::first_text(context_.session.control(), changed)) fail(contestant, *first);
    if (config_.numbers != Numbers::integer) return;
    const auto elements = static_cast<std::size_t>(layout_.c_elements());
    const std::array mine{static_cast<std::int64_t>(
        checksum({c_.data(), elements}) * static_cast<std::uint64_t>(2 * context_.session.rank() + 1))};
    const auto all = static_cast<std::uint64_t>(mpi::reduce(communicator_, mine, MPI_BXOR)[0]);
    if (!product_) product_ = all;
    if (*product_ != all) fail(contestant, "its product differs from that of another variant, with integers");
}

void Contest::fail(Contestant& contestant, const std::string& reason) {
    Outcome& outcome = contestant.member.outcome;
    if (outcome.status == Status::failed) return;
    outcome.status = Status::failed;
    outcome.reason = reason;
    outcome.wrong_bytes = 1;
}

Contest::Multiplier Contest::multiplier() const {
    JsonObject library;
    if (config_.kernel->loop != nullptr) {
        const std::string options(config_.kernel->options), compiler(slowpath::cannon::compiler());
        library.text("name", "plain loop, " + compiler).integer("threads", 1).text("compiled_for", options);
        return {"plain loop, " + compiler + " " + options, library.str()};
    }
    const Blas& blas = Blas::loaded();
    library.text("name", blas.name()).text("core", blas.core()).integer("threads", blas.threads());
    library.text("file", blas.file()).text("compiled_for", SLOWPATH_CANNON_FLAGS);
    return {"BLAS " + blas.name() + (blas.core().empty() ? "" : ", core " + blas.core()), library.str()};
}

void Contest::finish(Contestant& contestant) {
    context_.cell = contestant.member.cell;
    CellRecord& record = contestant.member.record;
    contestant.warmup.write(context_, record);
    contestant.steady.write(context_, record);
    contestant.member.outcome.steady_samples = contestant.steady.repetitions();
    contestant.member.outcome.stopped_because = "samples";
    if (context_.session.rank() != 0) return;
    JsonObject grid, event;
    grid.integer("rows", layout_.rows).integer("columns", layout_.columns).integer("steps", layout_.steps());
    const Multiplier by = multiplier();
    std::string remark = contestant.variant->remark();
    if (layout_.steps() == 1)
        remark = "one rank: nothing moves, and every style is the local multiplication alone";
    event.text("text", by.words + (remark.empty() ? "" : "; " + remark)).text("remark", remark);
    event.integer("cell", contestant.member.cell).raw("blas", by.json).raw("grid", grid.str());
    event.number("interval_ns", interval_cost_ns());
    record.events += "note " + event.fields() + "\n";
}

}  // namespace slowpath::cannon
