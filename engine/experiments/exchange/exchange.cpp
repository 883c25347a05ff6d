// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <numeric>

#include "core/batch.hpp"
#include "core/pattern.hpp"
#include "core/text_table.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::exchange {

namespace {

constexpr int first_tag = 80;

/// A message's tag says which way it goes: both neighbours in a dimension may be one rank.
int tag_towards(int dimension, bool upper) {
    return first_tag + 2 * dimension + (upper ? 1 : 0);
}

}  // namespace

Halo::Halo(const Config& config, const Grid& grid, int rank, std::uint64_t seed)
    : box_(config.box),
      datatype_(config.datatype),
      rank_(rank),
      seed_(seed),
      neighbours_(neighbours_of(grid, rank)),
      array_(static_cast<std::size_t>(config.box.array_bytes())),
      requests_(2 * neighbours_.size(), MPI_REQUEST_NULL) {
    if (config.validate) scratch_.resize(array_.size());
    fill_as(rank, 0, array_);
    for (const Neighbour& one : neighbours_) {
        Face& face = faces_.emplace_back(Face{.neighbour = one,
                                              .inner = box_.inner_face(one.dimension, one.upper),
                                              .ghost = box_.ghost_face(one.dimension, one.upper)});
        const auto bytes = static_cast<std::size_t>(box_.face_bytes(one.dimension));
        face.expected.resize(config.validate ? bytes : 0);
        if (datatype_ == Datatype::derived) continue;
        face.out.resize(bytes);
        face.in.resize(bytes);
    }
    if (datatype_ != Datatype::derived) return;
    for (Face& face : faces_) {
        face.out_type = subarray(face.inner);
        face.in_type = subarray(face.ghost);
    }
}

Halo::~Halo() {
    for (Face& face : faces_) {
        if (face.out_type != MPI_DATATYPE_NULL) MPI_Type_free(&face.out_type);
        if (face.in_type != MPI_DATATYPE_NULL) MPI_Type_free(&face.in_type);
    }
}

MPI_Datatype Halo::subarray(const Region& region) const {
    const auto extents = box_.array_points();
    std::array<int, 3> sizes{}, points{}, begins{};
    for (std::size_t d = 0; d < 3; ++d) {  // MPI_ORDER_C has the fastest dimension last
        sizes[2 - d] = static_cast<int>(extents[d]);
        points[2 - d] = static_cast<int>(region.points[d]);
        begins[2 - d] = static_cast<int>(region.begin[d]);
    }
    MPI_Datatype point = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_contiguous(static_cast<int>(box_.point_bytes), MPI_BYTE, &point),
               "MPI_Type_contiguous");
    mpi::check(
        MPI_Type_create_subarray(3, sizes.data(), points.data(), begins.data(), MPI_ORDER_C, point, &made),
        "MPI_Type_create_subarray");
    mpi::check(MPI_Type_commit(&made), "MPI_Type_commit");
    mpi::check(MPI_Type_free(&point), "MPI_Type_free");
    return made;
}

void Halo::fill_as(int rank, std::uint64_t number, Bytes& array) const {
    fill_pattern(array, mix(mix(seed_, static_cast<std::uint64_t>(rank)), number), 0, false);
}

void Halo::prepare(std::uint64_t number) {
    fill_as(rank_, number, array_);
    for (Face& face : faces_) {
        const auto [dimension, upper, sender] = face.neighbour;
        fill_as(sender, number, scratch_);
        box_.pack(scratch_, box_.inner_face(dimension, !upper), face.expected);
        Bytes poison = face.expected;
        std::transform(poison.begin(), poison.end(), poison.begin(), [](std::byte one) { return ~one; });
        box_.unpack(poison, face.ghost, array_);
        if (datatype_ == Datatype::derived) continue;
        face.in = poison;
        box_.pack(array_, face.inner, face.out);
    }
}

int Halo::start_receive(Face& face, MPI_Request& request) {
    const auto [dimension, upper, from] = face.neighbour;
    const int tag = tag_towards(dimension, !upper);
    if (datatype_ == Datatype::derived)
        return MPI_Irecv(array_.data(), 1, face.in_type, from, tag, MPI_COMM_WORLD, &request);
    return MPI_Irecv(face.in.data(), static_cast<int>(face.in.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                     &request);
}

int Halo::start_send(Face& face, MPI_Request& request) {
    const auto [dimension, upper, to] = face.neighbour;
    const int tag = tag_towards(dimension, upper);
    if (datatype_ == Datatype::derived)
        return MPI_Isend(array_.data(), 1, face.out_type, to, tag, MPI_COMM_WORLD, &request);
    if (datatype_ == Datatype::packed) box_.pack(array_, face.inner, face.out);
    return MPI_Isend(face.out.data(), static_cast<int>(face.out.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                     &request);
}

int Halo::exchange() {
    std::size_t started = 0;
    for (Face& face : faces_)
        if (const int code = start_receive(face, requests_[started++]); code != MPI_SUCCESS) [[unlikely]]
            return code;
    for (Face& face : faces_)
        if (const int code = start_send(face, requests_[started++]); code != MPI_SUCCESS) [[unlikely]]
            return code;
    const int code = MPI_Waitall(static_cast<int>(started), requests_.data(), MPI_STATUSES_IGNORE);
    if (datatype_ == Datatype::packed)
        for (const Face& face : faces_) box_.unpack(face.in, face.ghost, array_);
    return code;
}

void Halo::compare(std::uint64_t number, const char* when) {
    if (datatype_ == Datatype::contiguous) {
        for (const Face& face : faces_) judge(face.expected, face.in, when);
        return;
    }
    fill_as(rank_, number, scratch_);
    for (const Face& face : faces_) box_.unpack(face.expected, face.ghost, scratch_);
    judge(scratch_, array_, when);
}

void Halo::judge(const Bytes& expected, const Bytes& got, const char* when) {
    const Difference found = slowpath::exchange::compare(expected, got);
    compared_bytes += static_cast<std::int64_t>(expected.size());
    wrong_bytes += found.wrong_bytes;
    if (!found.first_wrong || first_wrong) return;
    first_wrong = "wrong payload: " + std::to_string(found.wrong_bytes) + " of " +
                  std::to_string(expected.size()) + " bytes, the first at index " +
                  std::to_string(*found.first_wrong) + ", on rank " + std::to_string(rank_) + ", " + when;
}

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

namespace {

/// Contents of one cell's messages.
enum Number : std::uint64_t { timed = 0, fresh = 1 };

Grid grid_of(int ranks) {
    Grid grid{};
    mpi::check(MPI_Dims_create(ranks, 3, grid.data()), "MPI_Dims_create");
    return grid;
}

/// The grid, in the cell's record (docs/internals/record.md); the same on every rank, so that one says it.
void record_grid(Context& context, const Grid& grid, const std::vector<Neighbour>& neighbours) {
    if (context.session.rank() != 0) return;
    const int ranks = distinct_ranks(neighbours);
    const std::string text = "ranks stand in a grid of " + std::to_string(grid[0]) + " x " +
                             std::to_string(grid[1]) + " x " + std::to_string(grid[2]) + ": each sends " +
                             std::to_string(neighbours.size()) + " faces, to " + std::to_string(ranks) +
                             (ranks == 1 ? " neighbour" : " neighbours");
    JsonObject note;
    note.text("text", text).integer("cell", context.cell).integer("rank", 0);
    context.record.events += "note " + note.fields() + "\n";
}

void measure(Measurement& measurement, Halo& halo, bool validate) {
    const auto compare = [&](Number number, const char* when) {
        if (validate) halo.compare(number, when);
    };
    if (validate) halo.prepare(timed);
    measurement.first();
    compare(timed, "after the first exchange");
    measurement.rest();
    compare(timed, "after the last exchange");
    if (!validate) return;
    // New bytes, so that what came earlier can't stand in for them.
    halo.prepare(fresh);
    mpi::check(halo.exchange(), "MPI_Irecv, MPI_Isend or MPI_Waitall");
    compare(fresh, "in an exchange after the timed ones");
}

/// Collective: what the ranks found, put together.
Outcome finish(const Context& context, const Halo& halo, const Measurement& measurement) {
    const MPI_Comm control = context.session.control();
    Outcome outcome;
    const std::array mine{halo.compared_bytes, halo.wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, mine, MPI_SUM);
    outcome.validated_bytes = all[0];
    outcome.wrong_bytes = all[1];
    outcome.reason = mpi::first_text(control, halo.first_wrong);
    if (outcome.reason) outcome.status = Status::failed;
    outcome.batch = measurement.batch;
    outcome.steady_samples = measurement.steady_samples;
    outcome.stopped_because = measurement.cut_by_time ? "time" : "samples";
    return outcome;
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const MPI_Comm control = context.session.control();
    const Grid grid = grid_of(context.session.size());
    std::unique_ptr<Halo> halo;
    std::optional<std::string> failure;
    try {
        halo = std::make_unique<Halo>(config, grid, context.session.rank(), mix(context.seed, context.cell));
    } catch (const std::bad_alloc&) {
        failure = "no memory for a box of " + std::to_string(config.box.array_bytes()) + " B on rank " +
                  std::to_string(context.session.rank());
    }
    if (const auto reason = mpi::first_text(control, failure)) {
        Outcome skipped;
        skipped.status = Status::skipped;
        skipped.reason = *reason;
        return skipped;
    }
    record_grid(context, grid, halo->neighbours());
    Measurement measurement(context, config, *halo);
    measure(measurement, *halo, config.validate);
    return finish(context, *halo, measurement);
}

void derive(const Assignment& assignment, std::optional<int>, JsonObject& to) {
    const Box box = configure(assignment).box;
    std::array<std::string, 3> faces;
    for (int d = 0; d < 3; ++d) faces[static_cast<std::size_t>(d)] = std::to_string(box.face_bytes(d));
    to.raw("face_bytes", json_array(faces)).integer("array_bytes", box.array_bytes());
}

/// Of each steady sample the longest of all ranks.
std::vector<double> exchanges_us(const CellNumbers& numbers) {
    std::map<std::uint64_t, double> longest_us;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady) continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            double& longest = longest_us[block.header.seq0 + i];
            longest =
                std::max(longest, static_cast<double>(block.durations_ns[i]) / (1e3 * block.header.batch));
        }
    }
    std::vector<double> times;
    for (const auto& [sample, time_us] : longest_us) times.push_back(time_us);
    return times;
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    return {{"Box", "Exchange(us)"}, assignment.integer("box_x"), {median(exchanges_us(numbers))}};
}

}  // namespace

const Experiment experiment{
    .name = "exchange",
    .summary = "neighbours in a grid of ranks exchange the faces of their boxes, all at once",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "box_x",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment&, std::optional<int>) { return std::optional<std::string>{}; },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = derive,
    .run = run,
    .tabulate = tabulate,
};

}  // namespace slowpath::exchange
