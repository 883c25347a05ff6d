// SPDX-License-Identifier: Apache-2.0
#include "nodes/parameters.hpp"

#include <string>

#include "core/error.hpp"

namespace slowpath::nodes {
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

}  // namespace slowpath::nodes
