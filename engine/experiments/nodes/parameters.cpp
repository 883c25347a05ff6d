// SPDX-License-Identifier: Apache-2.0
#include "nodes/parameters.hpp"

#include <array>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace slowpath::nodes {
namespace {

constexpr std::int64_t most_in_flight_bytes = std::int64_t{1} << 30;
using enum ParameterType;
using enum ParameterRole;

std::vector<Parameter> table() {
    return {
        {
            .name = "pattern",
            .type = choice,
            .role = setting,
            .default_value = "work",
            .choices = {"work", "copy", "access", "single_copy", "latency", "stream"},
            .meaning =
                "each node by itself: work (arithmetic on each of its processors at once), copy (memory "
                "to memory by all processors), access (dependent reads all over an array), single_copy "
                "(process_vm_readv); pairs: latency (round trips), stream (messages one way)",
        },
        {
            .name = "array_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "B",
            .default_value = "64MiB",
            .minimum = "1MiB",
            .maximum = "16GiB",
            .meaning =
                "pattern=copy: copied in each sample by all processors together; access: length of the array",
        },
        {
            .name = "message_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "B",
            .default_value = "8",
            .minimum = "0",
            .maximum = "1GiB",
            .meaning = "length of a message, and of a single copy",
        },
        {
            .name = "in_flight",
            .type = count,
            .role = covariate,
            .unit = "messages",
            .default_value = "8",
            .minimum = "1",
            .maximum = "1024",
            .meaning = "pattern=stream: messages of one sample, which an empty message answers",
        },
        {
            .name = "stride",
            .type = count,
            .role = setting,
            .unit = "nodes",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1000000",
            .meaning =
                "a pair is node i and node i + stride of the ring of all nodes, in the order of their ranks",
        },
        {
            .name = "turn",
            .type = count,
            .role = setting,
            .default_value = "0",
            .minimum = "0",
            .maximum = "2",
            .meaning = "which pairs of the ring: in one turn no node is in two; turn 2 is needed where the "
                       "cycles of "
                       "the ring have an odd number of nodes",
        },
        {
            .name = "only",
            .type = count,
            .role = setting,
            .default_value = "all",
            .minimum = "0",
            .maximum = "1000000",
            .choices = {"all"},
            .meaning =
                "all: the pairs of the turn at the same time; a number: the pair whose first node this is, "
                "while all others wait",
        },
        {
            .name = "direction",
            .type = choice,
            .role = setting,
            .default_value = "forward",
            .choices = {"forward", "reverse"},
            .meaning = "forward: node i sends to node i + stride and times; reverse: the other one does",
        },
        {
            .name = "samples",
            .type = count,
            .role = effort,
            .unit = "samples",
            .default_value = "40",
            .minimum = "1",
            .maximum = "100000",
            .meaning = "samples at most; pattern=work: of each processor",
        },
        time_limit(
            "time_limit_s", "0.05",
            "a node or pair ends after about this time even with fewer samples (at least 3 are taken)"),
    };
}

constexpr std::array metric_table{
    Metric{
        .name = "node_work_s",
        .unit = "s",
        .pattern = "work",
        .meaning = "131072 dependent multiplications while all processors of the node work, typical node",
        .definition = "per node the median of its processors' mean sample (part 2)",
    },
    Metric{
        .name = "node_copy_s",
        .unit = "s",
        .pattern = "copy",
        .meaning = "copying array_bytes in memory by all processors of a node, typical node",
        .definition = "per node the median sample",
    },
    Metric{
        .name = "node_access_s",
        .unit = "s",
        .pattern = "access",
        .meaning = "one read that depends on the one before, all over an array, typical node",
        .definition = "per node the median sample / batch",
    },
    Metric{
        .name = "node_single_copy_s",
        .unit = "s",
        .pattern = "single_copy",
        .meaning = "one process_vm_readv of message_bytes, typical node",
        .definition = "per node the median sample",
    },
    Metric{
        .name = "pair_latency_s",
        .unit = "s",
        .pattern = "latency",
        .meaning = "half a round trip between two nodes, typical pair",
        .definition = "per pair the median sample / (2 batch)",
    },
    Metric{
        .name = "pair_stream_s",
        .unit = "s",
        .pattern = "stream",
        .meaning = "a message of several in flight one way between two nodes, typical pair",
        .definition = "per pair the median sample / in_flight",
        .bandwidth = true,
    },
};

Pattern pattern_of(const std::string& word) {
    if (word == "copy") return Pattern::copy;
    if (word == "access") return Pattern::access;
    if (word == "single_copy") return Pattern::single_copy;
    if (word == "latency") return Pattern::latency;
    return word == "stream" ? Pattern::stream : Pattern::work;
}

}  // namespace

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> all = table();
    return all;
}

std::span<const Metric> metrics() {
    return metric_table;
}

Config configure(const Assignment& assignment) {
    Config config{
        .pattern = pattern_of(assignment.text("pattern")),
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
