// SPDX-License-Identifier: Apache-2.0
#include "plant/plant.hpp"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "plant/allocations.hpp"
#include "plant/cost.hpp"
#include "plant/launch.hpp"
#include "plant/spend.hpp"

namespace slowpath::plant {
namespace {

constexpr const char* variable = "SLOWPATH_PLANT";
constexpr const char* program = "slowpath-engine";

Plants planted;
std::int64_t started_ns = 0;
std::uint64_t launch = 0;
bool needs_allocation = false;
bool needs_idle = false;
bool needs_own_memory = false;
bool is_set[most_clauses];        // the variable of each clause
std::uint64_t count[calls];       // of calls so far
std::int64_t previous_ns[calls];  // when the last of each began
std::int64_t ended_ns = 0;        // when the last of all was over

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

bool looks_at_allocations() {
    for (const Quantity one : {Quantity::allocation, Quantity::use, Quantity::others})
        if (planted.looks_at(one)) return true;
    for (const Per one : {Per::allocation, Per::page, Per::granule})
        if (planted.charges_by(one)) return true;
    for (std::size_t i = 0; i < planted.count; ++i)
        if (planted.clauses[i].place == Place::cold) return true;
    return false;
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
    started_ns = ended_ns = now_ns();
    launch = launch_number();
    needs_allocation = looks_at_allocations();
    needs_idle = planted.looks_at(Quantity::idle_s);
    needs_own_memory = planted.looks_at(Quantity::alloc_mem);
    for (std::size_t i = 0; i < planted.count; ++i)
        is_set[i] = std::getenv(planted.clauses[i].environment) != nullptr;
    if (planted.cpu >= 0) run_on(planted.cpu);
}

double seconds(std::int64_t time_ns) {
    return static_cast<double>(time_ns) * 1e-9;
}

void look_up(const Message& message, Facts& facts) {
    const Use use = use_mapping(message.address, message.call);
    if (!use.known) return;
    facts[Quantity::allocation] = static_cast<double>(use.bytes);
    facts[Quantity::use] = static_cast<double>(use.earlier + 1);
    facts[Quantity::others] =
        use.earlier == 0 ? std::numeric_limits<double>::max() : static_cast<double>(use.newer);
}

Facts facts_of(const Message& message, std::int64_t begin_ns) {
    const auto kind = static_cast<std::size_t>(message.call);
    Facts facts;
    for (double& one : facts.of) one = -1;
    facts.call = message.call;
    facts.queue = static_cast<double>(message.queue);
    facts[Quantity::rank] = message.rank;
    facts.launch = launch;
    for (std::size_t i = 0; i < planted.count; ++i) facts.set[i] = is_set[i];
    if (message.moment == Moment::matching) return facts;
    if (needs_allocation) look_up(message, facts);
    facts[Quantity::bytes] = static_cast<double>(message.bytes);
    facts[Quantity::start] = static_cast<double>(reinterpret_cast<std::uintptr_t>(message.address));
    facts[Quantity::index] = static_cast<double>(++count[kind]);
    facts[Quantity::idle_s] = seconds(begin_ns - ended_ns);
    facts[Quantity::peer] = message.peer;
    facts[Quantity::wildcard] = message.wildcard ? 1 : 0;
    facts[Quantity::open] = facts.queue;
    facts[Quantity::root] = message.root;
    facts[Quantity::in_place] = message.in_place ? 1 : 0;
    if (needs_own_memory) facts[Quantity::alloc_mem] = is_alloc_mem(message.address) ? 1 : 0;
    facts.blocks = static_cast<double>(message.blocks);
    facts.age_s = seconds(begin_ns - started_ns);
    facts.now_s = seconds(begin_ns);
    facts.previous_s = seconds(previous_ns[kind]);
    previous_ns[kind] = begin_ns;
    return facts;
}

bool is_due(const Clause& clause, Moment moment) {
    return moment == Moment::whole || (clause.per == Per::queue) == (moment == Moment::matching);
}

}  // namespace

const Plants& plants() {
    return planted;
}

void charge(const Message& message, std::int64_t begin_ns) {
    const Facts facts = facts_of(message, begin_ns);
    std::int64_t end_ns = begin_ns;
    for (std::size_t i = 0; i < planted.count; ++i) {
        const Clause& one = planted.clauses[i];
        if (!is_due(one, message.moment) || !concerns(one, i, facts)) continue;
        if (one.place == Place::cold) {
            if (facts[Quantity::allocation] > 0) make_cold(message.address, message.bytes);
            continue;
        }
        end_ns += static_cast<std::int64_t>(cost_s(one, facts) * 1e9);
        spend_until(end_ns, one.place);
    }
}

void ended() {
    if (needs_idle) ended_ns = now_ns();
}

}  // namespace slowpath::plant
