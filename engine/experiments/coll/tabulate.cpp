// SPDX-License-Identifier: Apache-2.0
#include "coll/tabulate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "coll/measurement.hpp"
#include "core/text_table.hpp"

namespace slowpath::coll {
namespace {

/// One call on all ranks, ns.
struct Ends {
    std::int64_t first_entry = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_entry = std::numeric_limits<std::int64_t>::min();
    std::int64_t last_exit = std::numeric_limits<std::int64_t>::min();
    std::int64_t longest = 0;
};

using Calls = std::map<std::pair<std::uint32_t, std::uint64_t>, Ends>;  ///< by allocation and number

Calls calls_of(const CellNumbers& numbers, Phase phase, std::uint64_t part = part::call) {
    Calls calls;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != part) continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            const std::int64_t entry = block.header.t0_ns + block.starts_ns[i];
            Ends& ends = calls[{block.header.allocation, block.header.seq0 + i}];
            ends.first_entry = std::min(ends.first_entry, entry);
            ends.last_entry = std::max(ends.last_entry, entry);
            ends.last_exit = std::max(ends.last_exit, entry + block.durations_ns[i]);
            ends.longest = std::max(ends.longest, block.durations_ns[i]);
        }
    }
    return calls;
}

template <class Time>
std::optional<double> median_us(const Calls& calls, Time&& time) {
    std::vector<double> times;
    for (const auto& [number, ends] : calls) times.push_back(static_cast<double>(time(ends)) / 1e3);
    return times.empty() ? std::nullopt : std::optional(median(times));
}

/// Of the slowest rank, as the metrics are.
TableRow overlap_row(const Assignment& assignment, const CellNumbers& numbers) {
    const auto longest_us = [&](std::uint64_t part) {
        return median_us(calls_of(numbers, Phase::steady, part), [](const Ends& one) { return one.longest; });
    };
    return {{"Bytes", "Communicate(us)", "Compute(us)", "Both(us)"},
            assignment.integer("message_bytes"),
            {longest_us(part::call), longest_us(part::computation), longest_us(part::both)}};
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    if (assignment.text("pattern") == "overlap") return overlap_row(assignment, numbers);
    Calls calls = calls_of(numbers, Phase::steady);
    if (calls.empty()) calls = calls_of(numbers, Phase::first);
    const auto work = median_us(calls, [](const Ends& one) { return one.last_exit - one.last_entry; });
    const auto span = median_us(calls, [](const Ends& one) { return one.last_exit - one.first_entry; });
    const auto own = median_us(calls, [](const Ends& one) { return one.longest; });
    // Entries and exits of several nodes are on several clocks.
    return {{"Bytes", "Work(us)", "Span(us)", "Own(us)"},
            assignment.integer("message_bytes"),
            {numbers.one_node ? work : std::nullopt, numbers.one_node ? span : std::nullopt, own}};
}

}  // namespace slowpath::coll
