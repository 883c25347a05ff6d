// SPDX-License-Identifier: Apache-2.0
#include "p2p/endpoint.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/json.hpp"
#include "core/pattern.hpp"
#include "mpi/together.hpp"
#include "p2p/device.hpp"

namespace slowpath::p2p {

namespace {

/// Whether messages go to rank 0. Who polls decides, as who sends does elsewhere, and receives at the end.
bool to_rank_0(const Config& config) {
    return config.reversed != (config.pattern == Pattern::polling);
}

}  // namespace

Roles roles_of(const Config& config, int rank, int size) {
    const int pairs = config.pattern == Pattern::windowed ? static_cast<int>(config.pairs) : 1;
    const int distance = config.pattern == Pattern::windowed ? pairs : config.peer.value_or(size - 1);
    Roles roles;
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair);
    for (int pair = 0; pair < pairs; ++pair) roles.ranks.push_back(pair + distance);
    if (config.reversed) std::swap(roles.ranks.front(), roles.ranks.back());  // only one pair can be
    const bool reversed = to_rank_0(config);
    if (rank < pairs) {
        roles.side = reversed ? Side::receiver : Side::sender;
        roles.peer = rank + distance;
    } else if (rank >= distance && rank < distance + pairs) {
        roles.side = reversed ? Side::sender : Side::receiver;
        roles.peer = rank - distance;
    }
    return roles;
}

std::array<int, 2> ends_of(const Config& config, int size) {
    const int other = config.peer.value_or(size - 1);
    if (to_rank_0(config)) return {other, 0};
    return {0, other};
}

namespace {

std::int64_t integer_of(const std::byte* address) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
}

/// The same on both sides, which have the same launch and cell: by one generator, since those of the standard
/// library may differ from node to node. Fisher and Yates, as Durstenfeld has it (doi 10.1145/364520.364540).
std::vector<std::size_t> order_of(Order order, std::int64_t live_buffers, std::uint64_t seed) {
    std::vector<std::size_t> found(static_cast<std::size_t>(live_buffers));
    std::iota(found.begin(), found.end(), std::size_t{0});
    if (order == Order::reverse) std::reverse(found.begin(), found.end());
    if (order == Order::shuffled)
        for (std::size_t left = found.size(); left > 1; --left)
            std::swap(found[left - 1], found[mix(seed, left) % left]);
    return found;
}

void unsigned_or_null(JsonObject& event, std::string_view key, std::optional<std::size_t> value) {
    if (value)
        event.unsigned_integer(key, *value);
    else
        event.null(key);
}

}  // namespace

memory::Request request_for(const Context& context, const Config& config, Side side) {
    const SideConfig& memory = config.side(side);
    return {.kind = memory.kind,
            .pages = memory.pages,
            .bytes = static_cast<std::size_t>(memory.allocation_bytes()),
            .offset_bytes = static_cast<std::size_t>(memory.offset_bytes),
            .touch = memory.touch,
            .device = device_for(memory, context.session.node_rank())};
}

Endpoint::Endpoint(Context& context, const Config& config)
    : context_(context),
      config_(config),
      roles_(roles_of(config, context.session.rank(), context.session.size())),
      encoding_(config, roles_.side.value_or(Side::sender)),
      barrier_(context.session.control(), roles_.ranks),
      order_(order_of(config.order, config.live_buffers, mix(context.seed, context.cell))) {
    if (config.other_bytes) other_.emplace(*config.other_bytes);
}

const MessageEncoding& Endpoint::longest_encoding() const {
    return other_ && *config_.other_bytes > config_.message_bytes ? *other_ : encoding_;
}

std::optional<std::string> Endpoint::allocate_encoding() {
    if (!roles_.side) return std::nullopt;
    return encoding_.allocate(request_for(context_, config_, *roles_.side));
}

Endpoint::Held Endpoint::allocate() {
    memory::Buffer fresh(request_for(context_, config_, *roles_.side));
    const bool reused =
        context_.addresses.note(reinterpret_cast<std::uintptr_t>(fresh.base()), fresh.bytes());
    return {std::move(fresh), reused};
}

std::optional<std::string> Endpoint::renew(std::int64_t set) {
    if (!roles_.side) return std::nullopt;
    set_ = set;
    live_.clear();
    std::int64_t alive = 0;
    try {
        for (; alive < config_.live_buffers; ++alive) {
            Pair& fresh = live_.emplace_back();
            for (const Side from : config_.directions())
                fresh[from == Side::sender ? 0 : 1].emplace(allocate());
        }
    } catch (const std::exception& error) {
        live_.clear();
        if (config_.live_buffers == 1) return error.what();
        return std::string(error.what()) + " (" + std::to_string(alive) + " of " +
               std::to_string(config_.live_buffers) +
               " live_buffers were there; ask for fewer or shorter ones)";
    }
    close_ring();
    choose(static_cast<std::int64_t>(order_.front()));
    return std::nullopt;
}

void Endpoint::close_ring() {
    ring_.assign(live_.size(), {});
    for (std::size_t i = 0; i < live_.size(); ++i) {
        auto& [forth, back] = live_[order_[i]];
        ring_[order_[i]] = {forth ? forth->buffer.data() : nullptr, back ? back->buffer.data() : nullptr,
                            &ring_[order_[(i + 1) % live_.size()]]};
    }
}

void Endpoint::choose(std::int64_t index) {
    chosen_ = static_cast<std::size_t>(index);
    next_buffer_ = &ring_[chosen_];
    allocation_ = set_ * config_.live_buffers + index;
}

void Endpoint::record_allocations() {
    for (const Side from : config_.directions()) record_allocation(from);
}

void Endpoint::record_allocation(Side from) {
    const SideConfig& memory = config_.side(*roles_.side);
    const memory::Buffer& buffer = held(from).buffer;
    const memory::Observed observed = buffer.observe();
    JsonObject event;
    event.integer("cell", context_.cell)
        .integer("rank", context_.session.rank())
        .integer("index", allocation_);
    event.text("role", roles_.side == from ? "send" : "receive").text("memory", memory::name(memory.kind));
    event.text("mpi_memory_kind", observed.mpi_memory_kind).text("pages_asked", memory::name(memory.pages));
    event.text("pages_observed", observed.pages);
    unsigned_or_null(event, "huge_bytes", observed.huge_bytes);
    event.unsigned_integer("page_bytes", observed.page_bytes).integer("base", integer_of(buffer.base()));
    event.integer("address", integer_of(buffer.data())).unsigned_integer("allocation_bytes", buffer.bytes());
    event.integer("offset_bytes", memory.offset_bytes).boolean("reused_address", held(from).reused_address);
    if (observed.device)
        event.integer("device", *observed.device);
    else
        event.null("device");
    unsigned_or_null(event, "range_bytes", observed.range_bytes);
    unsigned_or_null(event, "granularity_bytes", observed.granularity_bytes);
    context_.record.events += "allocation " + event.fields() + "\n";
}

std::uint64_t Endpoint::seed(std::uint64_t number, Side from) const {
    const int sender = roles_.side == from ? context_.session.rank() : roles_.peer;
    std::uint64_t made = mix(context_.seed, context_.cell);
    made = mix(made, static_cast<std::uint64_t>(allocation_));
    made = mix(made, static_cast<std::uint64_t>(sender));
    return mix(made, number);
}

void Endpoint::prepare(std::uint64_t number, Side from) {
    const Payload payload(config_, *roles_.side);
    if (roles_.side == from)
        payload.fill(held(from).buffer, seed(number, from));
    else
        payload.poison(held(from).buffer, seed(number, from));
}

void Endpoint::compare(std::uint64_t number, Side from, const char* when) {
    if (roles_.side == from) return;
    const Payload::Result result =
        Payload(config_, *roles_.side).compare(held(from).buffer, seed(number, from));
    compared_bytes += result.compared_bytes;
    wrong_bytes += result.wrong_bytes;
    if (!result.first_wrong || first_wrong) return;
    first_wrong = "wrong payload: " + std::to_string(result.wrong_bytes) + " of " +
                  std::to_string(result.compared_bytes) + " bytes, the first at index " +
                  std::to_string(*result.first_wrong) + " of the message, on rank " +
                  std::to_string(context_.session.rank()) + ", allocation " + std::to_string(allocation_) +
                  ", " + when;
}

/// A first message touches the chosen buffer, what comes later touches all.
bool Endpoint::any_address_reused(Phase phase) const {
    for (std::size_t i = 0; i < live_.size(); ++i) {
        if (phase == Phase::first && i != chosen_) continue;
        for (const std::optional<Held>& memory : live_[i])
            if (memory && memory->reused_address) return true;
    }
    return false;
}

void Endpoint::begin_block(std::int64_t capacity) {
    samples_.start(static_cast<std::size_t>(capacity));
    context_.calls.begin();
    block_witness_ = read_witness();
    block_begin_ns_ = context_.clock.now_ns();
}

void Endpoint::end_block(Phase phase, std::uint32_t batch_of_block, std::int64_t first_sample,
                         bool with_starts) {
    const Witness after = read_witness();
    end_calls(phase, static_cast<std::int64_t>(samples_.size() * batch_of_block));
    if (samples_.size() == 0) return;
    BlockHeader header = block_header(phase, batch_of_block, first_sample);
    if (any_address_reused(phase)) header.flags |= block_flag::reused_address;
    store_witness(header, block_witness_, after);
    append_block(context_.record.blocks, header, samples_.durations_ns(),
                 with_starts ? samples_.begins_ns() : std::span<const std::int64_t>{});
}

void Endpoint::end_calls(Phase phase, std::int64_t operations) {
    context_.calls.end(phase, operations);
}

void Endpoint::add_part(Phase phase, std::uint32_t batch_of_block, std::int64_t first_sample,
                        std::uint64_t part, const Samples& samples, bool with_starts) {
    BlockHeader header = block_header(phase, batch_of_block, first_sample);
    header.part = part;
    append_block(context_.record.blocks, header, samples.durations_ns(),
                 with_starts ? samples.begins_ns() : std::span<const std::int64_t>{});
}

BlockHeader Endpoint::block_header(Phase phase, std::uint32_t batch_of_block,
                                   std::int64_t first_sample) const {
    BlockHeader header;
    header.cell = context_.cell;
    header.launch = context_.launch;
    header.rank = static_cast<std::uint32_t>(context_.session.rank());
    header.phase = phase;
    header.batch = batch_of_block;
    header.allocation = static_cast<std::uint32_t>(allocation_);
    header.t0_ns = block_begin_ns_;
    header.seq0 = static_cast<std::uint64_t>(first_sample);
    return header;
}

std::int64_t Endpoint::decide(std::int64_t mine) const {
    return mpi::decision_of_first(context_.session.control(), roles_.ranks, mine);
}

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

namespace {

/// A thread that waits gives its core away so often before it sleeps, since waking it takes tens of
/// microseconds.
constexpr int yields_before_sleep = 2000;

}  // namespace

Crew::Crew(int threads) {
    for (int number = 1; number < threads; ++number) others_.emplace_back(&Crew::work, this, number);
}

Crew::~Crew() {
    over_ = true;
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_all();
    for (std::thread& other : others_) other.join();
}

int Crew::run_all(const std::function<int(int)>& act) {
    act_ = &act;
    code_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_all();
    const int mine = act(0);
    while (busy_.load(std::memory_order_acquire) > 0) sched_yield();
    return mine != 0 ? mine : code_.load(std::memory_order_relaxed);
}

void Crew::work(int number) {
    for (std::uint32_t done = 0;; ++done) {
        for (int i = 0; i < yields_before_sleep && turn_.load(std::memory_order_acquire) == done; ++i)
            sched_yield();
        turn_.wait(done, std::memory_order_acquire);
        if (over_) return;
        if (const int code = (*act_)(number); code != 0) code_.store(code, std::memory_order_relaxed);
        busy_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace slowpath::p2p
