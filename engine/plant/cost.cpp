// SPDX-License-Identifier: Apache-2.0
#include "plant/cost.hpp"

#include <cmath>

namespace slowpath::plant {
namespace {

std::uint64_t whole(double value) {
    return static_cast<std::uint64_t>(value);
}

bool holds(const Condition& one, double value) {
    if (value < 0) return false;
    switch (one.relation) {
        case Relation::above:
            return value > one.value;
        case Relation::below:
            return value < one.value;
        case Relation::equal:
            return value == one.value;
        case Relation::remainder:
            return whole(value) % whole(one.value) == whole(one.remainder);
        case Relation::no_multiple:
            return whole(value) % whole(one.value) != 0;
    }
    return false;
}

/// The first call after each multiple of the period.
bool begins_period(double period_s, const Facts& facts) {
    return whole(facts.now_s / period_s) != whole(facts.previous_s / period_s);
}

double pieces(double bytes, std::uint64_t granule) {
    return bytes <= 0 ? 0 : static_cast<double>((whole(bytes) + granule - 1) / granule);
}

double times(const Clause& clause, const Facts& facts) {
    const auto known = [&](Quantity one) { return facts[one] > 0 ? facts[one] : 0; };
    const double allocation = known(Quantity::allocation);
    switch (clause.per) {
        case Per::call:
            return 1;
        case Per::byte:
            return known(Quantity::bytes);
        case Per::allocation:
            return allocation;
        case Per::page:
            return pieces(allocation, page_of(whole(allocation)));
        case Per::granule:
            return pieces(allocation, clause.granule);
        case Per::block:
            return facts.blocks > 1 ? facts.blocks : 0;
        case Per::queue:
            return facts.queue;
        case Per::index:
            return known(Quantity::index);
        case Per::second:
            return facts.age_s;
    }
    return 0;
}

// Different draws of one call must not be the same number.
constexpr std::uint64_t of_launch = 1ULL << 62;
constexpr std::uint64_t of_law = 1ULL << 61;

}  // namespace

// The finaliser of SplitMix64: Steele, Lea, Flood 2014, doi 10.1145/2660193.2660195.
double drawn(std::uint64_t seed, std::uint64_t number) {
    std::uint64_t bits = number + (seed + 1) * 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    bits ^= bits >> 31;
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

bool concerns(const Clause& clause, std::size_t number, const Facts& facts) {
    if (!clause.called[static_cast<std::size_t>(facts.call)]) return false;
    if (clause.environment[0] != '\0' && !facts.set[number]) return false;
    if (drawn(clause.seed, of_launch ^ facts.launch) >= clause.coin) return false;
    for (std::size_t i = 0; i < clause.count; ++i)
        if (!holds(clause.conditions[i], facts[clause.conditions[i].quantity])) return false;
    if (clause.period_s > 0 && !begins_period(clause.period_s, facts)) return false;
    return clause.chance >= 1 || drawn(clause.seed, whole(facts[Quantity::index])) < clause.chance;
}

double cost_s(const Clause& clause, const Facts& facts) {
    const double cost = clause.cost_s * times(clause, facts);
    if (!clause.exponential) return cost;
    return -std::log1p(-drawn(clause.seed, of_law ^ whole(facts[Quantity::index]))) * cost;
}

std::uint64_t page_of(std::uint64_t bytes) {
    constexpr std::uint64_t pages[] = {2048 * 1024, 64 * 1024};
    constexpr std::uint64_t host_page = 4096;
    const std::uint64_t mapped = (bytes + host_page - 1) / host_page * host_page;
    for (const std::uint64_t page : pages)
        if (mapped % page == 0) return page;
    return host_page;
}

}  // namespace slowpath::plant
