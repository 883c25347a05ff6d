// SPDX-License-Identifier: Apache-2.0
#include "put/parameters.hpp"

#include "put/refusals.hpp"

namespace slowpath::put {
Config configure(const Assignment& assignment) {
    Config config{};
    config.design = assignment.text("design");
    config.call = assignment.chosen<layers::Call>("call");
    config.checks = assignment.flag("checks");
    config.operation = assignment.chosen<Operation>("operation");
    config.window = assignment.chosen<WindowKind>("window");
    config.synchronisation = assignment.chosen<Synchronisation>("synchronise");
    config.datatype = assignment.chosen<DatatypeKind>("datatype");
    config.target_datatype = assignment.chosen<TargetDatatype>("target_datatype");
    config.message_bytes = assignment.integer("message_bytes");
    config.puts = assignment.integer("puts");
    config.window_info = assignment.text("window_info");
    config.order = assignment.chosen<layers::Order>("order");
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
