// SPDX-License-Identifier: Apache-2.0
#include "shell/yardsticks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "memory/gpu.hpp"
#include "mpi/launch.hpp"
#include "mpi/together.hpp"
#include "yardstick/copies.hpp"
#include "yardstick/pair.hpp"

namespace slowpath {
namespace {

using yardstick::Party;
using yardstick::SharedRegion;

constexpr std::size_t most_pairs = 4;
constexpr std::int64_t least_allowed_ns = 4'000'000;  ///< however short the launch was
constexpr std::int64_t most_beyond_ns = 50'000'000;   ///< one length in a launch, beyond what is allowed
constexpr std::int64_t allowed_percent = 4;           ///< of the launch so far
constexpr std::int64_t longest_host_bytes = 64LL << 20;
constexpr std::int64_t short_bytes = 256LL << 10;
constexpr std::int64_t longest_cold_bytes = 1LL << 20;

/// What all yardsticks of a length take, roughly: some 12 copies at 5 GB/s, on a GPU at 1 TB/s.
std::int64_t foreseen_ns(const Route& route) {
    constexpr std::int64_t set_up_ns = 80'000;
    return set_up_ns + (route.from_gpu || route.to_gpu ? route.bytes / 100 : route.bytes * 5 / 2);
}

/// Short messages take little time and come first.  Of the others another one is the first in each launch:
/// one may take longer than the launch allows, and the next launch does not begin with it.
std::vector<Route> in_order(std::vector<Route> routes, std::uint32_t launch) {
    const auto others = std::stable_partition(routes.begin(), routes.end(),
                                              [](const Route& route) { return route.bytes <= short_bytes; });
    if (const auto count = routes.end() - others; count > 0)
        std::rotate(others, others + static_cast<std::ptrdiff_t>(launch) % count, routes.end());
    return routes;
}

/// The number of the device's bus, the same in every process; 0: there is none.
std::int64_t bus_of(int ordinal) {
    memory::GpuDriver* const driver = memory::GpuDriver::instance();
    if (driver == nullptr || ordinal >= driver->device_count()) return 0;
    const auto id = driver->describe(ordinal).bus_id;
    return id ? static_cast<std::int64_t>(std::hash<std::string>()(*id) | 1U) : 0;
}

std::optional<int> device_on(std::int64_t bus) {
    memory::GpuDriver* const driver = memory::GpuDriver::instance();
    for (int ordinal = 0; driver != nullptr && ordinal < driver->device_count(); ++ordinal)
        if (bus != 0 && bus_of(ordinal) == bus) return ordinal;
    return std::nullopt;
}

/// The device that this rank uses, as p2p chooses it.
int own_device(const std::optional<int>& asked, int node_rank) {
    memory::GpuDriver* const driver = memory::GpuDriver::instance();
    const int count = driver == nullptr ? 0 : driver->device_count();
    return asked.value_or(count == 0 ? 0 : node_rank % count);
}

}  // namespace

Yardsticks::Yardsticks(const mpi::Session& session, std::uint32_t launch)
    : session_(session), launch_(launch), begin_ns_(clock_.now_ns()) {}

void Yardsticks::plan_for(const std::set<Route>& routes) {
    for (const Route& route : routes)
        if (planned_.size() < most_pairs || planned_.contains({route.from, route.to}))
            planned_[{route.from, route.to}].push_back(route);
}

std::string Yardsticks::measured() {
    yardsticks_begin_ns_ = clock_.now_ns();
    allowed_ns_ = std::max(least_allowed_ns, (yardsticks_begin_ns_ - begin_ns_) * allowed_percent / 100);
    if (planned_.empty()) return "";
    // By the host's name: a library that is told to use no shared memory says that each rank has its own
    // node.
    const auto node = static_cast<std::int64_t>(std::hash<std::string>()(mpi::host_name()) >> 2U);
    for (const auto& [ends, routes] : planned_) {
        const bool part = session_.rank() == ends.first || session_.rank() == ends.second;
        // Highest and lowest node of the two; the others say what changes neither.
        const std::array nodes{part ? node : -1, part ? -node : INT64_MIN};
        const std::vector<std::int64_t> all = mpi::reduce(session_.control(), nodes, MPI_MAX);
        measure(ends, in_order(routes, launch_), all[0] == -all[1]);
    }
    return std::move(lines_);
}

void Yardsticks::say(const std::string& reason, Ends ends) {
    yardstick::Timed none{"flag"};
    none.reason = reason;
    if (session_.rank() == ends.first) lines_ += yardstick::line(none, ends.first, ends.second);
}

void Yardsticks::measure(Ends ends, const std::vector<Route>& routes, bool one_node) {
    if (!one_node || ends.first == ends.second)
        return say("ranks " + std::to_string(ends.first) + " and " + std::to_string(ends.second) +
                       (one_node ? " are one process" : " are on different nodes"),
                   ends);
    std::int64_t area_bytes = 0;
    for (const Route& route : routes)
        if (!route.from_gpu && !route.to_gpu && route.bytes <= longest_host_bytes)
            area_bytes = std::max(area_bytes, route.bytes);
    const auto area = static_cast<std::size_t>(area_bytes);
    std::unique_ptr<SharedRegion> region;
    std::optional<std::string> failure;
    std::array<std::int64_t, 2> made{-1, -1};  // process and descriptor
    const auto attempt = [&](auto&& make) {
        try {
            region = make();
        } catch (const std::runtime_error& error) {
            failure = error.what();
        }
    };
    if (session_.rank() == ends.first) {
        attempt([&] { return std::make_unique<SharedRegion>(area); });
        if (region) made = {getpid(), region->descriptor()};
    }
    const std::vector<std::int64_t> given = mpi::reduce(session_.control(), made, MPI_MAX);
    if (session_.rank() == ends.second && given[0] >= 0)
        attempt([&] { return std::make_unique<SharedRegion>(given[0], static_cast<int>(given[1]), area); });
    if (const auto reason = mpi::first_text(session_.control(), failure)) return say(*reason, ends);
    if (region) measure_together(ends, routes, *region);
}

void Yardsticks::measure_together(Ends ends, const std::vector<Route>& routes, SharedRegion& region) {
    const Party me = session_.rank() == ends.first ? Party::first : Party::second;
    beyond_ = false;
    try {
        const yardstick::Timed flag = yardstick::hand_over(region, me);
        if (me == Party::first) lines_ += yardstick::line(flag, ends.first, ends.second);
        for (const Route& route : routes)
            if (may_measure(route, me, region)) measure_route(ends, route, region);
    } catch (const std::runtime_error& error) {
        say(error.what(), ends);
    }
}

bool Yardsticks::may_measure(const Route& route, Party me, SharedRegion& region) {
    const bool on_host = !route.from_gpu && !route.to_gpu;
    const std::int64_t foreseen = foreseen_ns(route);
    const bool fits = clock_.now_ns() - yardsticks_begin_ns_ + foreseen <= allowed_ns_ ||
                      (!beyond_ && route.bytes > short_bytes && foreseen <= most_beyond_ns);
    const bool sensible = route.bytes > 0 && (!on_host || route.bytes <= longest_host_bytes);
    const std::int64_t said = region.exchange(me, fits && sensible ? 1 : 0);
    const bool goes = me == Party::first ? fits && sensible : said == 1;
    beyond_ = beyond_ || (goes && clock_.now_ns() - yardsticks_begin_ns_ + foreseen > allowed_ns_);
    return goes;
}

void Yardsticks::measure_route(Ends ends, const Route& route, SharedRegion& region) {
    const Party me = session_.rank() == ends.first ? Party::first : Party::second;
    const auto keep = [&](const yardstick::Timed& timed) {
        if (me == Party::first) lines_ += yardstick::line(timed, ends.first, ends.second);
    };
    if (!route.from_gpu && !route.to_gpu) {
        keep(yardstick::copy_across(region, me, route.bytes));
        keep(yardstick::read_across(region, me, route.bytes));
        if (me != Party::first) return;
        keep(yardstick::copy_warm(route.bytes));
        if (route.bytes <= longest_cold_bytes) keep(yardstick::copy_cold(route.bytes));
        return;
    }
    const bool mine_on_gpu = me == Party::first ? route.from_gpu : route.to_gpu;
    const int device =
        own_device(me == Party::first ? route.from_device : route.to_device, session_.node_rank());
    const std::int64_t bus = region.exchange(me, mine_on_gpu ? bus_of(device) : 0);
    if (me != Party::first) return;
    const yardstick::GpuEnds gpus{route.from_gpu ? std::optional(device) : std::nullopt,
                                  route.to_gpu ? device_on(bus) : std::nullopt};
    if (route.to_gpu && !gpus.to) {
        yardstick::Timed none{route.from_gpu ? "gpu_peer_copy" : "gpu_from_host", route.bytes};
        none.reason = "rank " + std::to_string(ends.first) + " does not see the GPU of rank " +
                      std::to_string(ends.second);
        return keep(none);
    }
    keep(yardstick::copy_on_gpus(route.bytes, gpus));
}

}  // namespace slowpath
