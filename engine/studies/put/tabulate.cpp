// SPDX-License-Identifier: Apache-2.0
#include "put/tabulate.hpp"

#include "put/blocks.hpp"
#include "put/parameters.hpp"
#include "put/quantile.hpp"

namespace slowpath::put {
namespace {

/// Puts and their synchronisation; ns.
std::optional<double> time_per_put_ns(const CellNumbers& numbers, std::int64_t puts) {
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != Phase::steady ||
            block.header.allocation != static_cast<std::uint32_t>(Part::whole))
            continue;
        return quantile_of(block.durations_ns, lower_quartile) /
               (static_cast<double>(block.header.batch) * static_cast<double>(puts));
    }
    return std::nullopt;
}

}  // namespace

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    const Config config = configure(assignment);
    const std::optional<double> each_ns = time_per_put_ns(numbers, config.puts);
    std::optional<double> rate_per_s, instructions;
    if (each_ns && *each_ns > 0) rate_per_s = 1e9 / *each_ns;
    if (const auto found = numbers.counts.find("instructions_per_put"); found != numbers.counts.end())
        instructions = found->second;
    return {{"Size", "Time per put (ns)", "Messages/s", "Instructions"},
            config.message_bytes,
            {each_ns, rate_per_s, instructions}};
}

}  // namespace slowpath::put
