// SPDX-License-Identifier: Apache-2.0
#include "put/parameters.hpp"

#include "put/refusals.hpp"

namespace slowpath::put {
namespace {

/// Position of a parameter's word among its choices: the enumerations follow the table's order.
template <class Enumeration>
Enumeration chosen(const Assignment& assignment, std::string_view parameter) {
    const std::vector<std::string_view>& words = find_parameter(parameters(), parameter).choices;
    std::size_t index = 0;
    while (words[index] != assignment.text(parameter)) ++index;
    return static_cast<Enumeration>(index);
}

}  // namespace

Config configure(const Assignment& assignment) {
    Config config{};
    config.design = assignment.text("design");
    config.call = chosen<layers::Call>(assignment, "call");
    config.checks = assignment.flag("checks");
    config.operation = chosen<Operation>(assignment, "operation");
    config.window = chosen<WindowKind>(assignment, "window");
    config.synchronisation = chosen<Synchronisation>(assignment, "synchronise");
    config.datatype = chosen<DatatypeKind>(assignment, "datatype");
    config.target_datatype = chosen<TargetDatatype>(assignment, "target_datatype");
    config.message_bytes = assignment.integer("message_bytes");
    config.puts = assignment.integer("puts");
    config.window_info = assignment.text("window_info");
    config.order = chosen<layers::Order>(assignment, "order");
    config.instructions = assignment.integer("instructions");
    config.samples = assignment.integer("samples");
    config.time_limit_s = assignment.seconds("time_limit_s");
    config.warmup_s = assignment.seconds("warmup_s");
    config.validate = assignment.flag("validate");
    config.target_busy_s = assignment.seconds("target_busy_s");
    refuse_what_cannot_be(config, assignment);
    return config;
}

}  // namespace slowpath::put
