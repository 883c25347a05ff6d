// SPDX-License-Identifier: Apache-2.0
#include "nodes/nodes.hpp"

#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/text_table.hpp"
#include "core/work.hpp"
#include "experiment/context.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"
#include "nodes/pairs.hpp"
#include "record/witness.hpp"

namespace slowpath::nodes {

namespace {

/// The first rank of each node, ascending, on every rank.
std::vector<int> first_ranks(const mpi::Session& session) {
    const int first = session.node_rank() == 0 ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(session.size()));
    mpi::check(MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, session.control()), "MPI_Allgather");
    std::vector<int> found;
    for (int rank = 0; rank < session.size(); ++rank)
        if (all[static_cast<std::size_t>(rank)] != 0) found.push_back(rank);
    return found;
}

/// Where nodes wait for each other, and give their processors away meanwhile.
void meet(const mpi::Barrier& barrier) {
    std::array<std::int64_t, 1> nothing{};
    barrier.wait(nothing);
}

Measured measure(const Config& config, const mpi::Session& session, const std::vector<int>& first) {
    const auto me = std::find(first.begin(), first.end(), session.rank());
    if (me == first.end()) return {};
    if (!config.pairs()) return measure_alone(config);
    const auto pair = pair_of(static_cast<int>(me - first.begin()), static_cast<int>(first.size()),
                              config.stride, config.turn);
    if (!pair || (config.only && *config.only != pair->from)) return {};
    const int from = first[static_cast<std::size_t>(pair->from)],
              to = first[static_cast<std::size_t>(pair->to)];
    const int peer = from == session.rank() ? to : from;
    return measure_pair(config, session.control(), peer, (from == session.rank()) != config.reversed);
}

void record(Context& context, const Measured& measured, std::int64_t begin_ns, const Witness& before) {
    const Witness after = read_witness();
    for (const Series& series : measured.series) {
        BlockHeader header;
        header.cell = context.cell;
        header.launch = context.launch;
        header.rank = static_cast<std::uint32_t>(context.session.rank());
        header.phase = Phase::steady;
        header.batch = series.batch;
        header.t0_ns = begin_ns;
        header.part = series.part;
        store_witness(header, before, after);
        append_block(context.record.blocks, header, series.durations_ns);
    }
    if (!measured.reason) return;
    JsonObject note;
    note.text("text", *measured.reason).integer("cell", context.cell).integer("rank", context.session.rank());
    context.record.events += "note " + note.fields() + "\n";
}

Outcome run(Context& context, const Assignment& assignment) {
    const Config config = configure(assignment);
    const mpi::Session& session = context.session;
    const std::vector<int> first = first_ranks(session);
    Outcome outcome;
    if (config.pairs() && first.size() < 2) {
        outcome.status = Status::skipped;
        outcome.reason = "all ranks are on one node, and pairs need two";
        return outcome;
    }
    std::vector<int> everyone(static_cast<std::size_t>(session.size()));
    for (int rank = 0; rank < session.size(); ++rank) everyone[static_cast<std::size_t>(rank)] = rank;
    const mpi::Barrier barrier(session.control(), everyone);
    meet(barrier);
    const Witness before = read_witness();
    const std::int64_t begin_ns = context.clock.now_ns();
    const Measured measured = measure(config, session, first);
    record(context, measured, begin_ns, before);
    meet(barrier);
    std::int64_t taken = 0;
    for (const Series& series : measured.series)
        taken = std::max(taken, static_cast<std::int64_t>(series.durations_ns.size()));
    const std::array mine{taken};
    outcome.steady_samples = mpi::reduce(session.control(), mine, MPI_MAX)[0];
    outcome.stopped_because = outcome.steady_samples < config.samples ? "time" : "samples";
    if (outcome.steady_samples == 0) {
        outcome.status = Status::skipped;
        outcome.reason = mpi::first_text(session.control(), measured.reason)
                             .value_or("no pair of nodes has this stride and turn");
    }
    return outcome;
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    std::vector<double> times_us;
    for (const Block& block : numbers.blocks)
        for (const std::int64_t duration_ns : block.durations_ns)
            times_us.push_back(static_cast<double>(duration_ns) / (1e3 * block.header.batch));
    return {{"Stride", "Time(us)"}, assignment.integer("stride"), {median(times_us)}};
}

}  // namespace

const Experiment experiment{
    .name = "nodes",
    .summary = "all nodes at the same time: each by itself, or in pairs along a ring",
    .min_ranks = 1,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "stride",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = [](const Assignment& assignment, std::optional<int> ranks) -> std::optional<std::string> {
        if (configure(assignment).pairs() && ranks && *ranks < 2)
            return "pairs need two ranks, each on a node";
        return std::nullopt;
    },
    .yields = [](const Assignment&, std::string_view) { return true; },
    .derive = [](const Assignment&, std::optional<int>, JsonObject&) {},
    .run = run,
    .tabulate = tabulate,
};

namespace {

constexpr std::int64_t most_in_flight_bytes = std::int64_t{1} << 30;

}  // namespace

Config configure(const Assignment& assignment) {
    Config config{
        .pattern = assignment.chosen<Pattern>("pattern"),
        .array_bytes = assignment.integer("array_bytes"),
        .message_bytes = assignment.integer("message_bytes"),
        .in_flight = assignment.integer("in_flight"),
        .stride = assignment.integer("stride"),
        .turn = assignment.integer("turn"),
        .only = {},
        .reversed = assignment.text("direction") == "reverse",
        .samples = assignment.integer("samples"),
        .time_limit_s = assignment.seconds("time_limit_s"),
    };
    if (assignment.text("only") != "all") config.only = static_cast<int>(assignment.integer("only"));
    if (config.message_bytes > most_in_flight_bytes / config.in_flight)
        throw UsageError(std::to_string(config.in_flight) + " messages in flight of message_bytes " +
                         std::to_string(config.message_bytes) +
                         " are over 1 GiB; take fewer or shorter ones");
    return config;
}

namespace {

constexpr std::int64_t fewest_samples = 3;
constexpr std::size_t line_bytes = 64;

/// Processors that this process may use, ascending.
std::vector<int> own_processors() {
    std::vector<int> found;
    for (std::size_t count = 1024; count <= (1U << 16); count *= 2) {
        cpu_set_t* const set = CPU_ALLOC(count);
        const std::size_t bytes = CPU_ALLOC_SIZE(count);
        const bool answered = sched_getaffinity(0, bytes, set) == 0;
        for (std::size_t cpu = 0; answered && cpu < count; ++cpu)
            if (CPU_ISSET_S(cpu, bytes, set)) found.push_back(static_cast<int>(cpu));
        CPU_FREE(set);
        if (answered) return found;
    }
    return {sched_getcpu()};
}

/// The calling thread stays on one processor; where the kernel refuses, it goes where the kernel puts it.
void stay_on(int cpu) {
    const auto count = static_cast<std::size_t>(cpu) + 1;
    cpu_set_t* const set = CPU_ALLOC(count);
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
    static_cast<void>(sched_setaffinity(0, bytes, set));
    CPU_FREE(set);
}

bool goes_on(const Config& config, std::int64_t taken, std::int64_t begin_ns, const MonotonicClock& clock) {
    if (taken < fewest_samples) return true;
    return taken < config.samples &&
           static_cast<double>(clock.now_ns() - begin_ns) < config.time_limit_s * 1e9;
}

/// Each processor works without a pause until the time is over.  Part 1: its fastest sample, which its clock
/// rate alone decides; part 2: the mean one, in which it also waits for others and for a quota.
Measured work(const Config& config) {
    const std::vector<int> cpus = own_processors();
    std::vector<std::int64_t> fastest_ns(cpus.size()), mean_ns(cpus.size());
    std::barrier start(static_cast<std::ptrdiff_t>(cpus.size()));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < cpus.size(); ++i)
        threads.emplace_back([&, i] {
            const MonotonicClock clock;
            stay_on(cpus[i]);
            compute(work_steps);
            start.arrive_and_wait();
            const std::int64_t begin_ns = clock.now_ns();
            std::int64_t taken = 0, before_ns = begin_ns;
            while (taken < fewest_samples ||
                   static_cast<double>(before_ns - begin_ns) < config.time_limit_s * 1e9) {
                compute(work_steps);
                const std::int64_t now_ns = clock.now_ns();
                const std::int64_t lasted_ns = now_ns - before_ns;
                fastest_ns[i] = taken == 0 ? lasted_ns : std::min(fastest_ns[i], lasted_ns);
                before_ns = now_ns;
                ++taken;
            }
            mean_ns[i] = (before_ns - begin_ns) / taken;
        });
    for (std::thread& thread : threads) thread.join();
    return {{{1, 1, fastest_ns}, {2, 1, mean_ns}}, {}};
}

/// All processors copy a piece each, again and again together; a sample ends with the slowest.
Measured copy(const Config& config) {
    const std::vector<int> cpus = own_processors();
    const std::size_t piece = static_cast<std::size_t>(config.array_bytes) / cpus.size();
    std::vector<std::int64_t> durations_ns;
    std::atomic<bool> over = false, refused = false;
    std::int64_t first_ns = 0, begin_ns = 0;
    const MonotonicClock clock;
    std::int64_t passes = 0;
    // Runs on one thread, while all others wait.
    const auto turn = [&]() noexcept {
        const std::int64_t now_ns = clock.now_ns();
        if (passes == 1) first_ns = now_ns;  // the pass before only makes the pages
        if (passes > 1) durations_ns.push_back(now_ns - begin_ns);
        over = refused || (passes > 1 && !goes_on(config, passes - 1, first_ns, clock));
        ++passes;
        begin_ns = clock.now_ns();
    };
    durations_ns.reserve(static_cast<std::size_t>(std::max(config.samples, fewest_samples)) + 1);
    std::barrier together(static_cast<std::ptrdiff_t>(cpus.size()), turn);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < cpus.size(); ++i)
        threads.emplace_back([&, i] {
            stay_on(cpus[i]);
            std::unique_ptr<std::byte[]> from(new (std::nothrow) std::byte[piece]);
            std::unique_ptr<std::byte[]> to(new (std::nothrow) std::byte[piece]);
            if (!from || !to)
                refused = true;
            else {
                std::memset(from.get(), 1, piece);
                std::memset(to.get(), 2, piece);
            }
            for (together.arrive_and_wait(); !over; together.arrive_and_wait()) {
                if (from && to) std::memcpy(to.get(), from.get(), piece);
                asm volatile("" : : "r"(to.get()), "r"(from.get()) : "memory");
            }
        });
    for (std::thread& thread : threads) thread.join();
    if (refused) return {{}, "no memory for two arrays of " + std::to_string(config.array_bytes) + " B"};
    return {{{0, 1, durations_ns}}, {}};
}

/// A cycle through all lines of an array in random order (Sattolo 1986): no read begins before the last one
/// ended.
Measured access(const Config& config) {
    const std::size_t lines = static_cast<std::size_t>(config.array_bytes) / line_bytes;
    constexpr std::size_t step = line_bytes / sizeof(std::uint64_t);
    std::unique_ptr<std::uint64_t[]> array(new (std::nothrow) std::uint64_t[lines * step]);
    if (!array) return {{}, "no memory for an array of " + std::to_string(config.array_bytes) + " B"};
    for (std::size_t i = 0; i < lines; ++i) array[i * step] = i;
    std::minstd_rand random(1);
    for (std::size_t i = lines - 1; i > 0; --i) std::swap(array[i * step], array[(random() % i) * step]);
    const MonotonicClock clock;
    std::uint64_t at = 0;
    std::vector<std::int64_t> durations_ns;
    const std::int64_t first_ns = clock.now_ns();
    for (std::int64_t taken = -1; goes_on(config, taken, first_ns, clock); ++taken) {
        const std::int64_t begin_ns = clock.now_ns();
        for (std::uint32_t i = 0; i < accesses; ++i) at = array[at * step];
        asm volatile("" : "+r"(at));
        const std::int64_t end_ns = clock.now_ns();
        if (taken >= 0) durations_ns.push_back(end_ns - begin_ns);
    }
    return {{{0, accesses, durations_ns}}, {}};
}

/// The kernel's copy from one process to another, here of this process to itself: no permission is asked for.
Measured single_copy(const Config& config) {
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(config.message_bytes, 1));
    std::vector<std::byte> from(bytes, std::byte{1}), to(bytes, std::byte{2});
    const iovec local{to.data(), bytes}, remote{from.data(), bytes};
    const MonotonicClock clock;
    std::vector<std::int64_t> durations_ns;
    const std::int64_t first_ns = clock.now_ns();
    for (std::int64_t taken = -1; goes_on(config, taken, first_ns, clock); ++taken) {
        const std::int64_t begin_ns = clock.now_ns();
        const ssize_t moved = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        const std::int64_t end_ns = clock.now_ns();
        if (moved < 0) return {{}, "process_vm_readv is refused: " + std::string(std::strerror(errno))};
        if (taken >= 0) durations_ns.push_back(end_ns - begin_ns);
    }
    return {{{0, 1, durations_ns}}, {}};
}

}  // namespace

Measured measure_alone(const Config& config) {
    if (config.pattern == Pattern::work) return work(config);
    if (config.pattern == Pattern::copy) return copy(config);
    if (config.pattern == Pattern::access) return access(config);
    return single_copy(config);
}

namespace {

/// The turn of the edge from position k of a cycle of `length` nodes to position k + 1; nullopt: there is
/// none.
std::optional<std::int64_t> turn_of(int k, int length) {
    if (length < 2 || (length == 2 && k == 1))
        return std::nullopt;  // of two nodes each edge is the same pair
    if (length % 2 == 1 && k == length - 1) return 2;
    return k % 2;
}

}  // namespace

std::optional<PairOfNodes> pair_of(int node, int count, std::int64_t stride, std::int64_t turn) {
    const int step = static_cast<int>(stride % count);
    const int cycles = std::gcd(step, count);  // gcd(0, count) is count: each node is a cycle of its own
    const int length = count / cycles;
    int position = 0;
    for (int at = node % cycles; at != node; at = (at + step) % count) ++position;
    if (turn_of(position, length) == turn) return PairOfNodes{node, (node + step) % count};
    const int before = (position + length - 1) % length;
    if (turn_of(before, length) == turn) return PairOfNodes{(node + count - step) % count, node};
    return std::nullopt;
}

}  // namespace slowpath::nodes
