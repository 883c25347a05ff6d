// SPDX-License-Identifier: Apache-2.0
#include "cannon/cannon.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cannon/parameters.hpp"
#include "cannon/verify.hpp"
#include "core/json.hpp"
#include "experiment/context.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::cannon {

// The order in which variants are measured, interleaved.

/// repeat(contestant, number) for each of them in each repetition, another one first each time, so that none
/// always follows the same one.  Warm-ups come first, with numbers below 0.
/// @param contestants A random-access range of pointers.
template <class Contestants, class Repeat>
void interleave(const Contestants& contestants, std::int64_t warmups, std::int64_t repetitions,
                Repeat&& repeat) {
    const auto count = static_cast<std::int64_t>(contestants.size());
    for (std::int64_t number = -warmups; number < repetitions; ++number)
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t turn = (i + std::max<std::int64_t>(number, 0)) % count;
            repeat(*contestants[static_cast<std::size_t>(turn)], number);
        }
}

// Variants against each other: each repetition runs all of them, one after the other, so that a slow phase
// of the machine hits all alike.

/// One variant that takes part.
struct Contestant {
    Contestant(const VariantKind& of_kind, GroupMember& of_member, Stage& stage)
        : kind(of_kind), member(of_member), variant(of_kind.make(stage)) {}

    const VariantKind& kind;
    GroupMember& member;
    std::unique_ptr<Variant> variant;
    Recorder warmup{Phase::warmup};
    Recorder steady{Phase::steady};
};

class Contest {
  public:
    /// Collective.  Members whose variant can't run here are skipped with the reason.
    Contest(Context& context, const Config& config, const Layout& layout, std::span<GroupMember> members);
    ~Contest();
    Contest(const Contest&) = delete;
    Contest& operator=(const Contest&) = delete;

    void run();

  private:
    void admit(GroupMember& member, const VariantKind& kind);
    /// @param number Below 0: warm-up.
    void repeat(Contestant& contestant, std::int64_t number);
    void timed_part(Contestant& contestant);
    void move_skew(Contestant& contestant);
    void check(Contestant& contestant, std::int64_t number, std::uint64_t inputs_before);
    void fail(Contestant& contestant, const std::string& reason);
    std::uint64_t inputs_of(Contestant& contestant) const;
    bool validates(const Contestant& contestant, std::int64_t number) const;
    void finish(Contestant& contestant);
    /// What multiplies, in words and as the record has it.
    struct Multiplier {
        std::string words;
        std::string json;
    };
    Multiplier multiplier() const;

    Context& context_;
    Config config_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    Layout layout_;
    Inputs inputs_;
    Timeline timeline_;
    Multiply multiply_;
    OwnStrips own_;
    Stage stage_;
    Memory c_;
    mpi::Barrier barrier_;
    std::unique_ptr<Distribution> distribution_;
    std::vector<std::unique_ptr<Contestant>> contestants_;
    std::optional<std::uint64_t> product_;  ///< integer numbers: checksum of the first checked variant's C
};

/// Intervals of one repetition at most.
std::size_t most_intervals(const Layout& layout, std::int64_t piece);

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

namespace {

Layout layout_of(const Config& config, int ranks, int rank) {
    return config.ring ? ring(config.n, ranks, rank) : square_as_possible(config.n, ranks, rank);
}

/// Each panel has the same width; nullopt: so it has.
std::optional<std::string> no_whole_panels(const Layout& layout) {
    const int steps = layout.steps();
    if (layout.n % steps == 0) return std::nullopt;
    const std::int64_t nearest = std::max<std::int64_t>(1, (layout.n + steps / 2) / steps) * steps;
    return "n=" + std::to_string(layout.n) + " is no multiple of the " + std::to_string(steps) +
           " steps of " + std::to_string(layout.rows) + " x " + std::to_string(layout.columns) +
           " ranks; take n=" + std::to_string(nearest);
}

std::optional<std::string> known_obstacle(const Assignment& assignment, std::optional<int> ranks) {
    const Config config = configure(assignment);
    return ranks ? no_whole_panels(layout_of(config, *ranks, 0)) : std::nullopt;
}

/// What keeps all variants of a cell from running; local.
std::optional<std::string> obstacle(const Config& config, const Layout& layout) {
    if (const auto reason = no_whole_panels(layout)) return reason;
    if (config.kernel->loop != nullptr) return std::nullopt;
    try {
        Blas::loaded();
    } catch (const std::exception& error) {
        return error.what();
    }
    return std::nullopt;
}

void run_together(Context& context, std::span<GroupMember> members) {
    const Config config = configure(*members.front().assignment);
    const Layout layout = layout_of(config, context.session.size(), context.session.rank());
    if (const auto reason = mpi::first_text(context.session.control(), obstacle(config, layout))) {
        for (GroupMember& member : members) {
            member.outcome.status = Status::skipped;
            member.outcome.reason = *reason;
        }
        return;
    }
    Contest(context, config, layout, members).run();
}

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Milliseconds of one part on rank 0, summed over each repetition; `repetitions` from part total.
std::optional<double> part_ms(const CellNumbers& numbers, Part part) {
    std::size_t repetitions = 0;
    const Block* found = nullptr;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady || block.header.rank != 0) continue;
        if (block.header.part == static_cast<std::uint64_t>(Part::total))
            repetitions = block.durations_ns.size();
        if (block.header.part == static_cast<std::uint64_t>(part)) found = &block;
    }
    if (found == nullptr || repetitions == 0) return std::nullopt;
    const std::size_t each = found->durations_ns.size() / repetitions;
    std::vector<double> sums(repetitions);
    for (std::size_t i = 0; i < repetitions * each; ++i)
        sums[i / each] += 1e-6 * static_cast<double>(found->durations_ns[i]);
    return median(sums);
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    const std::optional<double> total = part_ms(numbers, Part::total), dgemm = part_ms(numbers, Part::dgemm);
    std::optional<double> exposed_percent;
    if (total && dgemm && *total > 0) exposed_percent = 100 * (1 - *dgemm / *total);
    return {{"N", "Total (ms)", "dgemm (ms)", "Not dgemm (%)"}, config.n, {total, dgemm, exposed_percent}};
}

void validate(const Assignment& assignment) {
    configure(assignment);
}

void derive(const Assignment& assignment, std::optional<int> ranks, JsonObject& to) {
    if (!ranks) return;
    const Config config = configure(assignment);
    const Layout layout = layout_of(config, *ranks, 0);
    to.integer("rows", layout.rows).integer("columns", layout.columns).integer("steps", layout.steps());
    to.unsigned_integer("most_intervals", most_intervals(layout, config.piece));
}

}  // namespace

const Experiment experiment{
    .name = "cannon",
    .summary = "Cannon's algorithm in many communication styles: what hides behind the multiplication",
    .min_ranks = 1,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "n",
    .validate = validate,
    .obstacle = known_obstacle,
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = nullptr,
    .tabulate = tabulate,
    .interleaved_by = "variant",
    .run_together = run_together,
};

}  // namespace slowpath::cannon
