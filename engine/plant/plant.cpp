// SPDX-License-Identifier: Apache-2.0
#include "plant/plant.hpp"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace slowpath::plant {
namespace {

constexpr const char* variable = "SLOWPATH_PLANT";
constexpr const char* program = "slowpath-engine";

Law planted;

/// The launcher and the shells between it and the ranks have the library in them too.
bool is_engine() {
    return std::strcmp(program_invocation_short_name, program) == 0;
}

void run_on(std::int64_t cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) return;
    std::fprintf(stderr, "slowpath-plant: error: processor %lld can't be used: %s\n",
                 static_cast<long long>(cpu), std::strerror(errno));
    std::_Exit(2);
}

/// A text that can't be read ends the rank: a plant that does nothing would be scored as one that was missed.
__attribute__((constructor)) void start() {
    const char* const text = std::getenv(variable);
    if (text == nullptr || !is_engine()) return;
    if (const char* const wrong = parse(text, planted)) {
        std::fprintf(stderr, "slowpath-plant: error: %s='%s': %s; see docs/results/plants.md\n", variable,
                     text, wrong);
        std::_Exit(2);
    }
    if (planted.kind == Kind::cpu) run_on(planted.n);
}

bool concerns(Side side, Call call) {
    return side == Side::both || (side == Side::send) == (call == Call::send);
}

double by_use(const Law& one, const Message& message, const Use& use) {
    const auto n = static_cast<std::uint64_t>(one.n);
    const bool pays = one.every || use.earlier == 0;
    switch (one.kind) {
        case Kind::pages: {
            const std::uint64_t page = page_of(use.bytes);
            return pays ? one.cost_s * static_cast<double>((use.bytes + page - 1) / page) : 0;
        }
        case Kind::allocation:
            return pays ? one.cost_s * static_cast<double>(use.bytes) : 0;
        case Kind::message:
            return pays ? one.cost_s * static_cast<double>(message.bytes) : 0;
        case Kind::constant:
            return pays ? one.cost_s : 0;
        case Kind::gate:
            return use.earlier + 1 < n ? one.cost_s : 0;
        case Kind::live:
            return use.earlier == 0 || use.newer >= n ? one.cost_s : 0;
        default:
            return 0;
    }
}

}  // namespace

const Law& law() {
    return planted;
}

double delay_s(const Message& message) {
    const Law& one = planted;
    if (one.kind == Kind::rank) return message.rank == one.n ? one.cost_s : 0;
    if (one.kind == Kind::queue)
        return message.call == Call::receive ? one.cost_s * static_cast<double>(message.ahead) : 0;
    if (!concerns(one.side, message.call)) return 0;
    if (one.kind == Kind::threshold)
        return message.bytes > static_cast<std::uint64_t>(one.n) ? one.cost_s : 0;
    if (one.kind == Kind::blocks)
        return message.blocks > 1 ? one.cost_s * static_cast<double>(message.blocks) : 0;
    const Use use = use_mapping(message.address, message.call);
    return use.known ? by_use(one, message, use) : 0;
}

std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

void spin(std::int64_t begin_ns, double delay) {
    const std::int64_t end_ns = begin_ns + static_cast<std::int64_t>(delay * 1e9);
    while (now_ns() < end_ns) {
    }
}

}  // namespace slowpath::plant
