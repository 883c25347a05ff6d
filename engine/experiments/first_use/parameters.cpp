// SPDX-License-Identifier: Apache-2.0
#include "first_use/parameters.hpp"

#include <climits>

#include "core/error.hpp"

namespace slowpath::first_use {

Config configure(const Assignment& assignment) {
    const Config config{
        .pattern = assignment.chosen<Pattern>("pattern"),
        .order = assignment.text("order"),
        .collective = assignment.chosen<Collective>("collective"),
        .communicator = assignment.chosen<Communicator>("communicator"),
        .made_by = assignment.chosen<MadeBy>("made_by"),
        .window = assignment.chosen<WindowKind>("window"),
        .memory = assignment.chosen<Memory>("memory"),
        .window_info = assignment.text("window_info"),
        .persistent = assignment.chosen<Persistent>("persistent"),
        .message_bytes = assignment.integer("message_bytes"),
        .window_bytes = assignment.integer("window_bytes"),
        .processes = assignment.integer("processes"),
        .uses = assignment.integer("uses"),
        .validate = assignment.flag("validate"),
    };
    if (config.message_bytes % 8 != 0)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) + " is no multiple of 8");
    return config;
}

}  // namespace slowpath::first_use
