// SPDX-License-Identifier: Apache-2.0
#include "cannon/load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "core/clock.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon {
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

}  // namespace slowpath::cannon
