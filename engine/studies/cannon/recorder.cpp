// SPDX-License-Identifier: Apache-2.0
#include "cannon/recorder.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "mpi/session.hpp"

namespace slowpath::cannon {

double interval_cost_ns() {
    constexpr int batches = 31, batch = 200;
    Timeline timeline(batch);
    std::array<double, batches> costs_ns{};
    const MonotonicClock clock{};
    for (double& cost_ns : costs_ns) {
        timeline.clear();
        const std::int64_t begin_ns = clock.now_ns();
        for (int i = 0; i < batch; ++i) timeline.timed(Part::dgemm, i, [] {});
        cost_ns = static_cast<double>(clock.now_ns() - begin_ns) / batch;
    }
    std::nth_element(costs_ns.begin(), costs_ns.begin() + batches / 2, costs_ns.end());
    return costs_ns[batches / 2];
}

namespace {

constexpr int tries = 5;
[[maybe_unused]] constexpr int rounds = 1000;  // of `unrolled` additions: about 5 us
[[maybe_unused]] constexpr int unrolled = 16;

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool known = true;

/// Register plus itself: an addition of a constant takes no cycle on some processors, which fold a chain.
void additions() {
    std::uint64_t value = 1;
    for (int i = 0; i < rounds; ++i) {
#define SLOWPATH_FOUR(text) text text text text
#ifdef __x86_64__
        asm volatile(SLOWPATH_FOUR(SLOWPATH_FOUR("add %0, %0\n\t")) : "+r"(value) : : "cc");
#else
        asm volatile(SLOWPATH_FOUR(SLOWPATH_FOUR("add %0, %0, %0\n\t")) : "+r"(value));
#endif
#undef SLOWPATH_FOUR
    }
}
#else
constexpr bool known = false;
void additions() {}
#endif

}  // namespace

std::optional<double> cpufreq_hz(const char* folder, int processor) {
    std::ifstream file(std::string(folder) + "/cpu" + std::to_string(processor) +
                       "/cpufreq/scaling_cur_freq");
    double khz = 0;
    file >> khz;
    if (!file || khz <= 0) return std::nullopt;
    return 1e3 * khz;
}

std::optional<double> counted_hz() {
    if (!known) return std::nullopt;
    const MonotonicClock clock{};
    std::int64_t fastest_ns = 0;
    for (int i = 0; i < tries; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        additions();
        const std::int64_t spent_ns = clock.now_ns() - begin_ns;
        fastest_ns = i == 0 ? spent_ns : std::min(fastest_ns, spent_ns);
    }
    if (fastest_ns <= 0) return std::nullopt;
    return 1e9 * rounds * unrolled / static_cast<double>(fastest_ns);
}

ClockReading read_clock() {
    if (const auto hz = cpufreq_hz("/sys/devices/system/cpu", sched_getcpu())) return {hz, "cpufreq"};
    if (const auto hz = counted_hz()) return {hz, "counted loop"};
    return {std::nullopt, "the kernel reports none, and no counted loop is known for this processor"};
}

namespace {

constexpr useconds_t nap_us = 200;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// user, nice, system, irq, softirq and steal of all processors; proc(5).
std::optional<double> busy_of_node() {
    std::ifstream file("/proc/stat");
    std::string label;
    std::array<double, 8> ticks{};
    file >> label;
    for (double& tick : ticks) file >> tick;
    if (!file || label != "cpu") return std::nullopt;
    constexpr std::size_t idle = 3, waiting = 4;
    double busy = 0;
    for (std::size_t i = 0; i < ticks.size(); ++i)
        if (i != idle && i != waiting) busy += ticks[i];
    return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Runnable tasks, this one included; nullopt: unknown.
std::optional<int> runnable() {
    std::ifstream file("/proc/loadavg");
    double average = 0;
    int running = 0;
    file >> average >> average >> average >> running;
    if (!file) return std::nullopt;
    return running;
}

bool quiet_now() {
    const std::optional<int> running = runnable();
    return !running || *running <= 1;
}

void sleep_until_quiet(double limit_s) {
    MonotonicClock clock;
    const std::int64_t end_ns = clock.now_ns() + static_cast<std::int64_t>(limit_s * 1e9);
    for (int seen = 0; seen < 2 && clock.now_ns() < end_ns; usleep(nap_us)) seen = quiet_now() ? seen + 1 : 0;
}

}  // namespace

LoadReading read_load() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {usage.ru_nivcsw, seconds(usage.ru_utime) + seconds(usage.ru_stime), busy_of_node()};
}

std::optional<double> other_load_s(MPI_Comm communicator, bool one_node, const LoadReading& before,
                                   const LoadReading& after) {
    double own_s = after.own_s - before.own_s, all_s = 0;
    mpi::check(MPI_Allreduce(&own_s, &all_s, 1, MPI_DOUBLE, MPI_SUM, communicator), "MPI_Allreduce");
    if (!one_node || !before.node_s || !after.node_s) return std::nullopt;
    const double other_s = *after.node_s - *before.node_s - all_s;
    return other_s > 0 ? other_s : 0.0;  // ticks of 10 ms may say less than the ranks used
}

void wait_asleep(MPI_Comm communicator) {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
    for (int done = 0; done == 0;) {
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) usleep(nap_us);
    }
}

void wait_for_quiet(MPI_Comm communicator, double limit_s) {
    if (limit_s <= 0) return;
    int rank = 0;
    mpi::check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    if (rank == 0) sleep_until_quiet(limit_s);
    wait_asleep(communicator);
}

namespace {

template <class Values, class Text>
std::string json_list(const Values& values, Text text) {
    std::vector<std::string> words;
    for (const auto& value : values) words.push_back(text(value));
    return json_array(words);
}

std::string seconds_or_null(const std::optional<double>& value) {
    return value ? std::to_string(*value) : "null";
}

/// Whole Hz: a frequency is not known any better.
std::string hertz_or_null(const std::optional<double>& value) {
    return value ? std::to_string(std::llround(*value)) : "null";
}

}  // namespace

void Recorder::add(const Timeline& timeline, std::int64_t involuntary_switches, std::optional<double> other_s,
                   const std::optional<ClockReading>& clock) {
    const bool first = switches_.empty();
    for (const Interval& interval : timeline.intervals()) {
        Series& series = series_[static_cast<std::size_t>(interval.part)];
        series.durations_ns.push_back(interval.end_ns - interval.begin_ns);
        series.begins_ns.push_back(interval.begin_ns);
        if (first) series.steps.push_back(interval.step);
    }
    switches_.push_back(involuntary_switches);
    others_s_.push_back(other_s);
    if (!clock) return;
    clocks_hz_.push_back(clock->hz);
    clock_from_ = clock->from;
}

void Recorder::write(const Context& context, CellRecord& record) const {
    if (switches_.empty()) return;
    for (std::size_t part = 0; part < parts; ++part)
        if (!series_[part].durations_ns.empty()) write_part(context, record, part);
    if (phase_ != Phase::steady) return;
    JsonObject event;
    event.integer("cell", context.cell).integer("rank", context.session.rank());
    event.raw("involuntary_switches",
              json_list(switches_, [](std::int64_t value) { return std::to_string(value); }));
    event.raw("other_cpu_s", json_list(others_s_, seconds_or_null));
    if (!clock_from_.empty())
        event.raw("clock_hz", json_list(clocks_hz_, hertz_or_null)).text("clock_from", clock_from_);
    record.events += "repetitions " + event.fields() + "\n";
}

void Recorder::write_part(const Context& context, CellRecord& record, std::size_t part) const {
    const Series& series = series_[part];
    BlockHeader header;
    header.cell = context.cell;
    header.launch = context.launch;
    header.rank = static_cast<std::uint32_t>(context.session.rank());
    header.phase = phase_;
    header.part = part;
    header.t0_ns = series.begins_ns.front();
    append_block(record.blocks, header, series.durations_ns, series.begins_ns);
    if (phase_ != Phase::steady) return;
    JsonObject event;
    event.integer("cell", context.cell).integer("rank", context.session.rank());
    event.integer("part", static_cast<std::int64_t>(part));
    event.raw("steps", json_list(series.steps, [](std::int32_t step) { return std::to_string(step); }));
    record.events += "intervals " + event.fields() + "\n";
}

}  // namespace slowpath::cannon
