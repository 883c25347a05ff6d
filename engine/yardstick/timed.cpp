// SPDX-License-Identifier: Apache-2.0
#include "yardstick/timed.hpp"

#include "core/json.hpp"

namespace slowpath::yardstick {

std::string line(const Timed& timed, int rank, int peer) {
    std::string list = "[";
    for (const std::int64_t sample : timed.samples_ns)
        list += (list.size() > 1 ? "," : "") + std::to_string(sample);
    JsonObject event;
    event.integer("rank", rank).integer("peer", peer).text("name", timed.name).integer("bytes", timed.bytes);
    event.integer("operations", timed.operations).raw("samples_ns", list + "]");
    event.text_or_null("reason", timed.reason);
    return "yardstick " + event.fields() + "\n";
}

}  // namespace slowpath::yardstick
