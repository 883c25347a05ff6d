// SPDX-License-Identifier: Apache-2.0
#include "p2p/tabulate.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "core/text_table.hpp"
#include "p2p/parameters.hpp"
#include "p2p/roles.hpp"

namespace slowpath::p2p {
namespace {

/// Samples of a phase of one rank, divided by the operations in each; us.
std::vector<double> times_us(const CellNumbers& numbers, Phase phase, std::uint32_t rank, double parts,
                             std::uint64_t part = 0) {
    std::vector<double> times;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.rank != rank || block.header.part != part) continue;
        for (const std::int64_t duration_ns : block.durations_ns)
            times.push_back(static_cast<double>(duration_ns) / (1e3 * parts * block.header.batch));
    }
    return times;
}

/// Receive end - send start, which needs one clock; us.
std::vector<double> one_way_us(const CellNumbers& numbers, Phase phase, std::uint32_t from) {
    std::vector<std::int64_t> begins_ns, ends_ns;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != length_part::message) continue;
        const bool sender = block.header.rank == from;
        for (std::size_t i = 0; i < block.starts_ns.size(); ++i) {
            const std::int64_t begin_ns = block.header.t0_ns + block.starts_ns[i];
            if (sender)
                begins_ns.push_back(begin_ns);
            else
                ends_ns.push_back(begin_ns + block.durations_ns[i]);
        }
    }
    std::vector<double> times;
    for (std::size_t i = 0; i < std::min(begins_ns.size(), ends_ns.size()); ++i)
        times.push_back(static_cast<double>(ends_ns[i] - begins_ns[i]) / 1e3);
    return times;
}

/// Of a pattern of one pair.
std::uint32_t rank_of(Side side, const Config& config, const CellNumbers& numbers) {
    const auto [sender, receiver] = ends_of(config, static_cast<int>(numbers.size));
    return static_cast<std::uint32_t>(side == Side::sender ? sender : receiver);
}

TableRow one_way_row(const Config& config, const CellNumbers& numbers) {
    const std::uint32_t from = rank_of(Side::sender, config, numbers);
    if (config.barrier_inside)
        return {{"Size", "First send+barrier(us)", "Later send+barrier(us)"},
                config.message_bytes,
                {median(times_us(numbers, Phase::first, from, 1)),
                 median(times_us(numbers, Phase::steady, from, 1))}};
    if (numbers.one_node && config.posted == Posted::together)
        return {{"Size", "First one-way (us)", "Later one-way (us)"},
                config.message_bytes,
                {median(one_way_us(numbers, Phase::first, from)),
                 median(one_way_us(numbers, Phase::steady, from))}};
    const std::uint32_t last = rank_of(Side::receiver, config, numbers);
    return {{"Size", "First receive (us)", "Later receive (us)"},
            config.message_bytes,
            {median(times_us(numbers, Phase::first, last, 1)),
             median(times_us(numbers, Phase::steady, last, 1))}};
}

/// Messages of all pairs over the longest of their samples, sample by sample; 1/s.
std::vector<double> message_rates_per_s(const Config& config, const CellNumbers& numbers) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> longest_ns;
    double batch = 1;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady) continue;
        batch = block.header.batch;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            std::int64_t& longest = longest_ns[{block.header.allocation, block.header.seq0 + i}];
            longest = std::max(longest, block.durations_ns[i]);
        }
    }
    const double messages = static_cast<double>(config.pairs * config.window_messages()) * batch;
    std::vector<double> rates;
    for (const auto& [sample, duration_ns] : longest_ns)
        if (duration_ns > 0) rates.push_back(messages / (1e-9 * static_cast<double>(duration_ns)));
    return rates;
}

TableRow windowed_row(const Config& config, const CellNumbers& numbers) {
    const std::optional<double> rate = median(message_rates_per_s(config, numbers));
    std::optional<double> megabytes_per_s;
    if (rate) megabytes_per_s = *rate * static_cast<double>(config.message_bytes) / 1e6;
    return {{"Size", "Bandwidth (MB/s)", "Messages/s"}, config.message_bytes, {megabytes_per_s, rate}};
}

TableRow polling_row(const Config& config, const CellNumbers& numbers) {
    const std::uint32_t who = rank_of(Side::receiver, config, numbers);
    return {{"Size", "Poll (us)"}, config.message_bytes, {median(times_us(numbers, Phase::steady, who, 1))}};
}

/// Rank 0's; the metrics are those of the slower end (docs/reference/metrics.md).
TableRow overlap_row(const Config& config, const CellNumbers& numbers) {
    const auto part = [&](std::uint64_t number) {
        return median(times_us(numbers, Phase::steady, 0, 1, number));
    };
    return {{"Size", "Communicate(us)", "Compute(us)", "Both(us)"},
            config.message_bytes,
            {part(overlap_part::communication), part(overlap_part::computation), part(overlap_part::both)}};
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    if (config.pattern == Pattern::one_way) return one_way_row(config, numbers);
    if (config.pattern == Pattern::windowed) return windowed_row(config, numbers);
    if (config.pattern == Pattern::polling) return polling_row(config, numbers);
    if (config.pattern == Pattern::overlap) return overlap_row(config, numbers);
    const std::uint32_t from = rank_of(Side::sender, config, numbers);
    return {
        {"Size", "Latency (us)"}, config.message_bytes, {median(times_us(numbers, Phase::steady, from, 2))}};
}

}  // namespace slowpath::p2p
